/** Broken: the cancel names the call's numeric id as a string, which is another id. */
import { isCancel, withSend } from './wrap.mjs';

export const connect = withSend((message, forward) => {
  if (!isCancel(message)) return forward(message);
  return forward({ ...message, params: { ...message.params, requestId: String(message.params.requestId) } });
});
