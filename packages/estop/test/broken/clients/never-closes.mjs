/** Broken over modern HTTP: the client cancels with a notification, and never closes a response stream. */
import { withSend } from './wrap.mjs';

export const connect = withSend((message, forward) => forward(message));
