/** Never comes back, as a load that is stuck. */
export async function hang(): Promise<never> {
  return new Promise(() => {});
}
