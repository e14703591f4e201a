/** Bounded waits. */

/** Whether it came to pass within `ms`. */
export async function within(happens: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([happens.then(() => true), over]);
  } finally {
    clearTimeout(timer);
  }
}
