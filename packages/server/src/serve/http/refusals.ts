/**
 * What a door answers by itself, without a server: in the SDK's own words, where it has some.
 */
export function methodNotAllowed(): Response {
  return refusal(405, -32_000, 'Method not allowed.', { allow: 'POST' });
}

export function noSessionId(): Response {
  return refusal(400, -32_000, 'Bad Request: Mcp-Session-Id header is required');
}

export function noSuchSession(): Response {
  return refusal(404, -32_001, 'Session not found');
}

export function internalError(): Response {
  return refusal(500, -32_603, 'Internal server error');
}

export function isShut(): Response {
  return refusal(503, -32_000, 'The server is shutting down', { connection: 'close' });
}

export function tooLong(bytes: number): Response {
  return refusal(413, -32_000, `Payload Too Large: Request body must not exceed ${bytes} bytes`, {
    connection: 'close',
  });
}

export function malformed(): Response {
  return refusal(400, -32_000, 'Bad Request: the request cannot be read', { connection: 'close' });
}

export function forbidden(message: string): Response {
  return refusal(403, -32_000, message);
}

export function notFound(): Response {
  return refusal(404, -32_000, 'Not found');
}

function refusal(status: number, code: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers });
}
