/** Gates, and waits that end: no test sleeps. */

export interface Latch<T = void> {
  readonly promise: Promise<T>;
  readonly open: (value: T) => void;
  readonly fail: (error: unknown) => void;
}

export function latch<T = void>(): Latch<T> {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

/** Generous: it ends a test that is broken, and decides nothing in one that works. */
const BOUND_MS = 20_000;

/** The same promise, or an error that says what did not happen. */
export async function soon<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not happen within ${BOUND_MS} ms: ${what}`)), BOUND_MS);
  });
  try {
    return await Promise.race([promise, bound]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks after each turn of the event loop, for what nothing tells of. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + BOUND_MS;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`did not happen within ${BOUND_MS} ms: ${what}`);
    await turn();
  }
}

/** Lets every promise settle that hangs on nothing but promises. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets every promise that can settle do so, and Node report the rejections that nobody handled. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
