/**
 * Turns the signals that end a command into one abort, and remembers which it was.
 *
 * The first one aborts, so that the work can clean up after itself; a second SIGINT leaves at once, and then nothing
 * promises that what the run started is gone.
 */
const EXIT_BY_SIGNAL = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
export type EndingSignal = keyof typeof EXIT_BY_SIGNAL;

/** The reason of the abort. */
export class Interrupted extends Error {
  override name = 'Interrupted';
  readonly by: EndingSignal;
  readonly exitCode: number;

  constructor(by: EndingSignal) {
    super(`interrupted by ${by}`);
    this.by = by;
    this.exitCode = EXIT_BY_SIGNAL[by];
  }
}

export interface Interrupt {
  readonly signal: AbortSignal;
  /** `undefined` until a signal came. */
  readonly reason: () => Interrupted | undefined;
  /** Takes the listeners away. */
  readonly release: () => void;
}

export function listenForInterrupt(onFirst: (reason: Interrupted) => void): Interrupt {
  const controller = new AbortController();
  let first: Interrupted | undefined;
  const onSignal = (by: NodeJS.Signals): void => {
    if (first) {
      if (by === 'SIGINT') process.exit(EXIT_BY_SIGNAL.SIGINT);
      return;
    }
    first = new Interrupted(by as EndingSignal);
    onFirst(first);
    controller.abort(first);
  };
  const names = Object.keys(EXIT_BY_SIGNAL) as EndingSignal[];
  for (const name of names) process.on(name, onSignal);
  return {
    signal: controller.signal,
    reason: () => first,
    release: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
