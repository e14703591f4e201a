/**
 * A row: one figure, ours beside a peer's, and whether it is within its target.
 *
 * What was not measured is `unknown` in its row, with a note that says why; it does not hold.
 */

export type Figure = number | 'unknown';

export interface Row {
  /** The bench's name and what was measured; says of what the target is, where it is not the ratio. */
  readonly name: string;
  readonly unit: string;
  readonly ours: Figure;
  /** `null` in a row without a peer. */
  readonly peerName: string | null;
  readonly peer: Figure | null;
  /** Ours over the peer's; of several rounds the median of their ratios, which is not the ratio of the medians. */
  readonly ratio: Figure | null;
  /** At most this; `null` in a row that is there to be seen. */
  readonly target: number | null;
  readonly holds: boolean | 'unknown' | null;
  /** Why a row could not be measured, or what is behind a figure. */
  readonly note?: string;
}

export interface RatioInit {
  readonly name: string;
  readonly unit: string;
  readonly peerName: string;
  /** Of the ratio; without one the row says how much noise there is. */
  readonly target?: number;
  readonly note?: string;
}

/** Two sides that ran in the same rounds: a round's noise is on both, so it is each round's ratio that counts. */
export function ratioRow(init: RatioInit, ours: readonly number[], peer: readonly number[]): Row {
  const ratio = median(ours.map((value, round) => value / (peer[round] ?? Number.NaN)));
  const target = init.target ?? null;
  return {
    name: init.name,
    unit: init.unit,
    ours: median(ours),
    peerName: init.peerName,
    peer: median(peer),
    ratio,
    target,
    holds: target === null ? null : ratio <= target,
    ...(init.note !== undefined && { note: init.note }),
  };
}

export interface AmountInit {
  readonly name: string;
  readonly unit: string;
  /** Of our own figure; without one the row is there to be seen. */
  readonly target?: number;
  readonly peer?: { readonly name: string; readonly value: number };
  readonly note?: string;
}

export function amountRow(init: AmountInit, ours: number): Row {
  const target = init.target ?? null;
  return {
    name: target === null ? init.name : `${init.name} (target: ours)`,
    unit: init.unit,
    ours,
    peerName: init.peer?.name ?? null,
    peer: init.peer?.value ?? null,
    // Nothing is a ratio of nothing.
    ratio: init.peer === undefined || init.peer.value === 0 ? null : ours / init.peer.value,
    target,
    holds: target === null ? null : ours <= target,
    ...(init.note !== undefined && { note: init.note }),
  };
}

/** A figure that could not be had. */
export function unknownRow(name: string, note: string): Row {
  return {
    name,
    unit: '',
    ours: 'unknown',
    peerName: null,
    peer: null,
    ratio: null,
    target: null,
    holds: 'unknown',
    note: `not measured: ${note}`,
  };
}

/** @throws RangeError for no values: there is no such figure */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  if (upper === undefined || lower === undefined) throw new RangeError('median of nothing');
  return (lower + upper) / 2;
}
