/** Broken: an abort rejects the call for its caller, and nothing is sent to the server. */
import { isCancel, withSend } from './wrap.mjs';

export const connect = withSend(async (message, forward) => {
  if (!isCancel(message)) await forward(message);
});
