/** What the broken clients share: the official client with something between it and the pipes, or around its calls. */
import { connectSdkV2 } from '../../../dist/probe/subject/sdk-v2.js';

/** @param send  `(message, forward)`: forwards what it lets through */
export function between(transport, send) {
  return {
    start: () => transport.start(),
    close: () => transport.close(),
    send: (message) => send(message, (passed) => transport.send(passed)),
    set onmessage(listener) {
      transport.onmessage = listener;
    },
    get onmessage() {
      return transport.onmessage;
    },
    set onclose(listener) {
      transport.onclose = listener;
    },
    get onclose() {
      return transport.onclose;
    },
    set onerror(listener) {
      transport.onerror = listener;
    },
    get onerror() {
      return transport.onerror;
    },
  };
}

export const withSend = (send) => (transport, era, timeoutMs) => connectSdkV2(between(transport, send), era, timeoutMs);

/** @param call  `(inner, tool, args, signal, transport)` */
export const withCall = (call) => async (transport, era, timeoutMs) => {
  const inner = await connectSdkV2(transport, era, timeoutMs);
  return { ...inner, call: (tool, args, signal) => call(inner, tool, args, signal, transport) };
};

export const isCancel = ({ method }) => method === 'notifications/cancelled';
