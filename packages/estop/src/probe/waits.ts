/**
 * How long the control must be held, from how long the cancelled work was.
 *
 * Where the work ended, the control is held clearly longer than that work had lived: a handler with a timeout of its
 * own ends the control's work too, and gives itself away. Where nothing ended, the same wait is enough.
 */
export interface Waits {
  /** One that is going on; what it returns takes its length in ms, and whether the work ended meanwhile. */
  begin(): (heldMs: number, ended: boolean) => void;
  /** What the control has to be held for, in ms, once all that have begun are over. */
  forControl(): Promise<number>;
}

const LONGER = 1.5;
const MARGIN_MS = 250;

export function createWaits(): Waits {
  const going: Promise<void>[] = [];
  let longestMs = MARGIN_MS;
  return {
    begin() {
      let over = (): void => {};
      going.push(
        new Promise((resolve) => {
          over = resolve;
        }),
      );
      return (heldMs, ended) => {
        longestMs = Math.max(longestMs, ended ? heldMs * LONGER + MARGIN_MS : heldMs);
        over();
      };
    },
    async forControl() {
      await Promise.all(going);
      return longestMs;
    },
  };
}
