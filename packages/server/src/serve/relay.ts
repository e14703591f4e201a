/**
 * A transport in front of another one, for the SDK.
 *
 * SDK v2's entry replaces the callbacks of a transport instead of chaining them; here it replaces the relay's, and whoever
 * reads the real one stays in front. v1 chains them, and is given the same.
 */
import type { Frame, TransportShape } from '../sdk/shapes.ts';

export class Relay implements TransportShape {
  onmessage?: TransportShape['onmessage'];
  onclose?: TransportShape['onclose'];
  onerror?: TransportShape['onerror'];
  /** Resolves when the real one has closed. */
  readonly closed: Promise<void>;
  readonly #transport: TransportShape;

  constructor(transport: TransportShape) {
    this.#transport = transport;
    transport.onmessage = (message, extra) => this.onmessage?.(message, extra);
    transport.onerror = (error) => this.onerror?.(error);
    this.closed = new Promise((resolve) => {
      transport.onclose = () => {
        this.onclose?.();
        resolve();
      };
    });
  }

  start(): Promise<void> {
    return this.#transport.start();
  }

  send(message: Frame, options?: unknown): Promise<void> {
    return this.#transport.send(message, options);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}
