/**
 * What a major of the official SDK has for stdio.
 */
import type { TransportShape } from '../sdk/shapes.ts';
import type { ServerFactory, ServeStdioOptions } from './stdio.ts';

export interface Entry {
  /** Over the process's stdin and stdout; closes when either ends. */
  newTransport(): TransportShape;
  /**
   * Connects what the factory makes to the transport.
   *
   * @returns closes the connection
   */
  serve(factory: ServerFactory, transport: TransportShape, options: ServeStdioOptions): Promise<Closing>;
}

interface Closing {
  close(): Promise<void>;
}
