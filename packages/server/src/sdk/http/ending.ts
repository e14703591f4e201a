/**
 * The end of an exchange in which something stays silent: its socket is free, and the SDK's maps have no entry of it.
 *
 * By public means of the transport alone; `docs/decisions/0017` has how each mode takes them.
 */
import { REQUEST_CANCELLED, REQUEST_CANCELLED_TEXT } from '../../core/index.ts';
import type { Frame, TransportShape } from '../shapes.ts';
import type { Post } from './post.ts';
import type { StreamableShape } from './streamable.ts';

/** @param send the transport's own, which nothing filters */
export async function endSilently(post: Post, transport: StreamableShape, send: TransportShape['send']): Promise<void> {
  const { answers, silent } = post;
  // With an answer beside it, it was a batch.
  const isReplaced = post.answer.replace(answers.length > 0 ? { status: 200, json: answers } : { status: 202 });
  // v2 in JSON mode forgets a request only when it answers, so it answers into the replaced response.
  if (!isReplaced || !isV2(transport)) transport.closeSSEStream(silent[0]);
  for (const id of silent) await swallow(id, transport, send);
}

function isV2(transport: StreamableShape): boolean {
  return transport.setSupportedProtocolVersions !== undefined;
}

/** The answer that makes the SDK forget a request; it reaches nobody, which is what the SDK would complain of. */
function swallow(id: unknown, transport: StreamableShape, send: TransportShape['send']): Promise<void> {
  const { onerror } = transport;
  transport.onerror = undefined;
  const error = { code: REQUEST_CANCELLED, message: REQUEST_CANCELLED_TEXT };
  const sent = send({ jsonrpc: '2.0', id, error } as Frame).catch(() => {});
  transport.onerror = onerror;
  return sent;
}
