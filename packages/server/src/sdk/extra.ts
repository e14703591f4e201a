/**
 * SDK v1's `extra` in the words of v2's context.
 *
 * An `extra` has no members for elicitation, sampling and the log: there the server has them, and knows what its client
 * can do. Asked and told through here they belong to the call, on the wire too.
 */
import { type Call, heard } from '../core/index.ts';
import { ask } from './ask.ts';
import { callOf } from './bind.ts';
import { servedBy } from './nested.ts';
import type { ExtraShape, HandlerContext, Method, RequestContextShape, ServerV1Shape } from './shapes.ts';

type ClientShape = Pick<
  RequestContextShape,
  '_meta' | 'notify' | 'log' | 'elicitInput' | 'requestSampling' | 'inputResponses' | 'requestState'
>;

/** @throws TypeError for a v1 context that is not bound to a call */
export function requestOf(context: HandlerContext): ClientShape {
  if ('mcpReq' in context) return context.mcpReq;
  const call = callOf(context);
  const server = call && (servedBy(call)?.protocol as ServerV1Shape | undefined);
  if (call === undefined || server === undefined) {
    throw new TypeError('estop: this context is none of a handler on a protected server');
  }
  return {
    _meta: context._meta,
    notify: context.sendNotification,
    log: (level: string, data: unknown, logger?: string) => log(server, context, { level, data, logger }),
    elicitInput: question(call, context, server.elicitInput.bind(server)),
    requestSampling: question(call, context, server.createMessage.bind(server)),
  };
}

function question(call: Call, { requestId }: ExtraShape, method: Method): Method {
  return (params: unknown, options?: object) =>
    ask(call, method, [params, { ...options, relatedRequestId: requestId }], true);
}

/** By the server's own rule of what its client wants to hear, and by the call's own way to it, quiet after a stop. */
function log(server: ServerV1Shape, extra: ExtraShape, line: object): Promise<void> {
  const byCall = { notification: { value: extra.sendNotification } };
  return heard((Object.create(server, byCall) as ServerV1Shape).sendLoggingMessage(line, extra.sessionId));
}
