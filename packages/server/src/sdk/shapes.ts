/**
 * The shapes of the official SDK that estop relies on, written down rather than imported: an install with one major
 * alone must compile, and a mismatch must be found at `protect()`, not in a call.
 */

/** An `McpServer`, or the `Server` inside one. */
export interface ProtectableServer {
  close(): Promise<void>;
}

/** A JSON-RPC frame, as far as it matters here; from the wire, so nothing of it is trusted. */
export interface Frame {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly error?: { readonly data?: unknown };
}

export interface TransportShape {
  onmessage?: ((message: Frame, extra?: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  start(): Promise<void>;
  close(): Promise<void>;
  send(message: Frame, options?: unknown): Promise<void>;
}

export interface RequestShape {
  readonly id: unknown;
  readonly method: string;
  readonly params?:
    | { readonly name?: unknown; readonly uri?: unknown; readonly _meta?: unknown; readonly arguments?: unknown }
    | undefined;
}

/** A member of a handler's context, whatever it takes. */
export type Method = (...args: never[]) => unknown;

/** SDK v2's `ctx.mcpReq`. */
export interface RequestContextShape {
  readonly id: unknown;
  readonly method?: string;
  readonly requestState?: unknown;
  readonly envelope?: unknown;
  readonly inputResponses?: unknown;
  readonly droppedInputResponseKeys?: unknown;
  readonly _meta?: { readonly progressToken?: string | number } | undefined;
  readonly signal: AbortSignal;
  readonly notify: (notification: { method: string; params?: unknown }, ...rest: never[]) => Promise<void>;
  readonly log: Method;
  readonly send: Method;
  readonly elicitInput: Method;
  readonly requestSampling: Method;
}

/** SDK v2's handler context. */
export interface ContextShape {
  mcpReq: RequestContextShape;
}

/** SDK v1's handler context, its `extra`. */
export interface ExtraShape {
  readonly requestId: unknown;
  readonly sessionId?: string | undefined;
  readonly _meta?: { readonly progressToken?: string | number } | undefined;
  readonly signal: AbortSignal;
  sendNotification: RequestContextShape['notify'];
  sendRequest: Method;
}

/** A handler's context, of either major. */
export type HandlerContext = ContextShape | ExtraShape;

export type HandlerShape = (request: RequestShape, context: HandlerContext) => Promise<unknown>;

/** The `Protocol` inside a server: `_requestHandlers` is private, and the same in both majors. */
export interface ProtocolShape {
  readonly _requestHandlers: Map<string, HandlerShape>;
  readonly transport?: TransportShape | undefined;
  fallbackRequestHandler?: HandlerShape | undefined;
  /** Of v2 only: makes a handler's context, as the request is read; a subclass may override it. */
  buildContext?(base: ContextShape, extra?: unknown): ContextShape;
  onerror?: ((error: Error) => void) | undefined;
  connect(transport: TransportShape): Promise<void>;
  close(): Promise<void>;
  /** What tells a server from a client. */
  sendToolListChanged(): Promise<void>;
}

/** What SDK v1's server has for its client, where v2 has it in the context. */
export interface ServerV1Shape {
  elicitInput: Method;
  createMessage: Method;
  sendLoggingMessage(params: object, sessionId?: string): Promise<void>;
}

/** @throws TypeError when `server` is no server of an SDK that this version of estop knows */
export function protocolOf(server: unknown): ProtocolShape {
  const outer = server as { server?: unknown } | null | undefined;
  const inner = (outer?.server ?? outer) as Partial<ProtocolShape> | null | undefined;
  if (
    typeof inner !== 'object' ||
    inner === null ||
    !(inner._requestHandlers instanceof Map) ||
    typeof inner.connect !== 'function' ||
    // A client has such a table too.
    typeof inner.sendToolListChanged !== 'function'
  ) {
    throw new TypeError(
      'estop: protect() was given something that is no McpServer or Server of @modelcontextprotocol/server 2.x ' +
        'or @modelcontextprotocol/sdk 1.x (no server with a table of request handlers was found in it)',
    );
  }
  return inner as ProtocolShape;
}

export function isV1(protocol: ProtocolShape): boolean {
  return protocol.buildContext === undefined;
}

/** What a call is called: a tool's or prompt's name, a resource's URI. */
export function nameIn(params: unknown): string | undefined {
  const { name, uri } = (params ?? {}) as { name?: unknown; uri?: unknown };
  return typeof name === 'string' ? name : typeof uri === 'string' ? uri : undefined;
}
