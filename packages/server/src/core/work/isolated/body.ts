/**
 * What runs a function elsewhere: a thread or a process, which takes one function in its life.
 */
import type { Work } from '../work.ts';
import type { FromIsolated, ToIsolated } from './protocol.ts';

export interface Body {
  /** Itself as work: of the call that it runs a function for, or of nobody yet. */
  readonly work: Work;
  /** One at a time: what keeps it ahead, then what runs in it. */
  listener: BodyListener | undefined;
  /** Does nothing when it is gone. @throws for what cannot be cloned */
  post(message: ToIsolated): void;
  /** Whether it keeps this process alive. */
  ref(): void;
  unref(): void;
}

export interface BodyListener {
  heard(message: FromIsolated): void;
  /** It threw outside of the function, or what it sent could not be read. */
  broke(error: unknown): void;
  /** @param how the end of a sentence: `exited with code 3 before it returned` */
  gone(how: string): void;
}
