/** The same promise; not to await it is no crash. Whoever awaits it still gets the rejection. */
export function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
