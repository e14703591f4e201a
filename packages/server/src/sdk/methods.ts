/**
 * Which requests matter here, by their method.
 */

/**
 * The requests that run an author's handler: these are calls, and no others.
 *
 * `initialize`, `ping` and the lists are the SDK's own and quick; a client may not cancel `initialize` at all
 * (2025-11-25, basic/utilities/cancellation).
 */
export const CALL_METHODS: ReadonlySet<unknown> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
]);

/** Requests to a legacy client that are put to its user: meanwhile the deadline of the call that asks stands still. */
export const ASKS_USER: ReadonlySet<unknown> = new Set(['elicitation/create', 'sampling/createMessage']);
