/** What the broken clients share: the official client with something between it and the wire, or around its calls. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { connectSdkV2 } from '../../../dist/probe/subject/sdk-v2.js';

/** The transport that the official client would have taken. */
export const transportTo = (endpoint) =>
  endpoint instanceof URL ? new StreamableHTTPClientTransport(endpoint) : endpoint;

/**
 * Does not forward `hasPerRequestStream`, as wrappers tend to: over modern HTTP no stream is ever closed by it.
 *
 * @param send  `(message, forward)`: forwards what it lets through
 */
export function between(transport, send) {
  return {
    start: () => transport.start(),
    close: () => transport.close(),
    setProtocolVersion: (revision) => transport.setProtocolVersion?.(revision),
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

export const withSend = (send) => (endpoint, era, timeoutMs) =>
  connectSdkV2(between(transportTo(endpoint), send), era, timeoutMs);

/** @param call  `(inner, tool, args, signal)` */
export const withCall = (call) => async (endpoint, era, timeoutMs) => {
  const inner = await connectSdkV2(endpoint, era, timeoutMs);
  return { ...inner, call: (tool, args, signal) => call(inner, tool, args, signal) };
};

export const isCancel = ({ method }) => method === 'notifications/cancelled';
