/** Whoever starts work and ends it when told to: estop, and the packages that it is compared with. */

/** What is started: a process, or a function of `sides/threads.ts` in a thread. */
export type Started =
  | { readonly kind: 'process'; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: 'thread'; readonly name: string; readonly announceTo: string };

/**
 * Kills by force, and at once: whoever can be polite is not.
 *
 * @returns when the killer holds the work for done, which may be early, late, or never; with what it says of it
 */
export type Kill = () => Promise<string>;

/** @throws CannotStart for a kind of work that it does not have */
export type Killer = (work: Started) => Kill;

export class CannotStart extends Error {}
