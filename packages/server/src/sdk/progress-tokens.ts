/**
 * Whose progress is written: by its token, which clients choose once for each call.
 */
import type { Call } from '../core/index.ts';

const SILENCED_TOKENS = 1_000;

export class ProgressTokens {
  // Invariant: both hold only calls that are in the registry.
  readonly #calls = new Map<unknown, Call>();
  readonly #tokens = new Map<Call, unknown>();
  // Of calls that were stopped and have left, the last ones: what they left behind may still report progress.
  readonly #silenced = new Set<unknown>();

  begin(call: Call, token: unknown): void {
    this.#silenced.delete(token);
    this.#calls.set(token, call);
    this.#tokens.set(call, token);
  }

  left(call: Call): void {
    const token = this.#tokens.get(call);
    this.#tokens.delete(call);
    if (token === undefined || this.#calls.get(token) !== call) return;
    this.#calls.delete(token);
    if (call.reason === undefined) return;
    this.#silenced.add(token);
    if (this.#silenced.size > SILENCED_TOKENS) this.#silenced.delete(this.#silenced.values().next().value);
  }

  /** Progress is about to be written. @returns false when its call was stopped */
  progressed(token: unknown): boolean {
    const call = this.#calls.get(token);
    if (call?.reason !== undefined || this.#silenced.has(token)) return false;
    call?.progressed();
    return true;
  }
}
