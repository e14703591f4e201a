/**
 * The ids of the requests in a body.
 */
export function idsIn(body: unknown): unknown[] {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => {
    const { id, method } = (message ?? {}) as { id?: unknown; method?: unknown };
    return typeof method === 'string' && id !== undefined ? [id] : [];
  });
}
