/** The order in which what is compared takes its turns. */

/** Round after round: each is first as often as the others, and each comes as often before another as after it. */
export function turned<T>(items: readonly T[], round: number): T[] {
  const by = (round >> 1) % items.length;
  const order = [...items.slice(by), ...items.slice(0, by)];
  return round % 2 === 0 ? order : order.reverse();
}
