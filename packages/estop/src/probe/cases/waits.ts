/**
 * How long the control must be held, from how long the cancelled work was.
 *
 * Where the work ended, the control is held clearly longer than that work had lived: a handler with a timeout of its
 * own ends the control's work too, and gives itself away. Where nothing ended, the same wait is enough.
 */
export interface Waits {
  /**
   * Cancelled work that is going to be held. To be called before its attempt awaits anything: a control that reaches
   * its gate first would else know of nothing to wait for, and be held too short.
   */
  begin(who: object): void;
  /** It is over, also when it never came to be held: its length in ms, and whether the work ended meanwhile. */
  over(who: object, heldMs: number, ended: boolean): void;
  /** What the control has to be held for, in ms, once all that have begun are over. */
  forControl(): Promise<number>;
}

const LONGER = 1.5;
const MARGIN_MS = 250;

export function createWaits(): Waits {
  const going = new Map<object, { readonly ended: Promise<void>; readonly end: () => void }>();
  let longestMs = MARGIN_MS;
  return {
    begin(who) {
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      going.set(who, { ended, end });
    },
    over(who, heldMs, ended) {
      longestMs = Math.max(longestMs, ended ? heldMs * LONGER + MARGIN_MS : heldMs);
      going.get(who)?.end();
    },
    async forControl() {
      await Promise.all([...going.values()].map(({ ended }) => ended));
      return longestMs;
    },
  };
}
