/**
 * The scopes of which somebody runs or waits, and how many do. All others are forgotten.
 */
import type { Gate } from './gate.ts';
import type { Entry } from './queue.ts';

export class Scope {
  readonly name: string;
  readonly max: number;
  /** Places of its limit that are taken; nested calls need none. */
  running = 0;
  waiting = 0;
  // The queue's own: its lines, none of them empty, and when it was last served or, not served yet, began to wait.
  readonly entries = new Map<Gate | undefined, Entry>();
  turn = 0;

  constructor(name: string, max: number) {
    this.name = name;
    this.max = max;
  }

  get hasRoom(): boolean {
    return this.running < this.max;
  }
}

export class Scopes {
  readonly #max: number;
  readonly #scopes = new Map<string, Scope>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#scopes.size;
  }

  /** Found or made. To be forgotten again before anybody is told anything, unless a call of it runs or waits by then. */
  get(name: string): Scope {
    let scope = this.#scopes.get(name);
    if (scope === undefined) {
      scope = new Scope(name, this.#max);
      this.#scopes.set(name, scope);
    }
    return scope;
  }

  forgetIfIdle(scope: Scope): void {
    if (scope.running === 0 && scope.waiting === 0) this.#scopes.delete(scope.name);
  }
}
