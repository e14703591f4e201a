/** How a server of the SDK is put behind HTTP: by which major, what it keeps between requests, and how it answers. */

export type Era = 'legacy' | 'modern';

export interface WiringInit {
  readonly era: Era;
  /** The bare SDK has lost the call when its cancel comes: that request reaches a server that knows nothing of it. */
  readonly losesCancels: boolean;
}

export const WIRINGS = {
  'v1 stateful, SSE': { era: 'legacy', losesCancels: false },
  'v1 stateful, JSON': { era: 'legacy', losesCancels: false },
  'v1 stateless': { era: 'legacy', losesCancels: true },
  'v2 stateful': { era: 'legacy', losesCancels: false },
  'v2 createMcpHandler, legacy': { era: 'legacy', losesCancels: true },
  'v2 createMcpHandler, modern': { era: 'modern', losesCancels: false },
} as const satisfies Record<string, WiringInit>;

export type Wiring = keyof typeof WIRINGS;

export const ALL_WIRINGS = Object.keys(WIRINGS) as Wiring[];

export function isWiring(name: string | undefined): name is Wiring {
  return name !== undefined && Object.hasOwn(WIRINGS, name);
}
