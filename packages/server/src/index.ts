/**
 * `@estop/server`: makes a stop real in MCP servers on the official SDK.
 */
export type {
  AskOptions,
  Call,
  CallContext,
  Child,
  Elicited,
  Exit,
  IsolatedContext,
  LogLevel,
  Outcome,
  Output,
  OutputOptions,
  Progress,
  RungName,
  Sampled,
  SpawnOptions,
  Stats,
  StopKind,
  ThreadOptions,
} from './core/index.ts';
export { REQUEST_CANCELLED, REQUEST_CANCELLED_TEXT, StopReason } from './core/index.ts';
export { createEstop, type Estop, type EstopOptions } from './estop.ts';
export type { NestedOptions, ToolContext } from './facade/context.ts';
export {
  createMcpServer,
  type HttpServeOptions,
  type McpApp,
  type McpServerOptions,
  type ServeOptions,
} from './facade/create-mcp-server.ts';
export type { InProcessOptions } from './facade/in-process.ts';
export type { ArgsOf, ToolSchema } from './facade/schema.ts';
export type { ToolAnnotations, ToolDefinition } from './facade/tool.ts';
export { OUTCOME_META } from './sdk/answer.ts';
export type { IsolatedHandler, IsolatedOptions } from './sdk/isolated.ts';
export type { ProtectOptions } from './sdk/protect.ts';
export type { DeadlineOptions, ToolOptions } from './sdk/rules.ts';
export type { ProtectableServer } from './sdk/shapes.ts';
export type { FetchHandler } from './serve/http/door.ts';
export type { HttpServer, ListenOptions } from './serve/http/listen.ts';
export type { ExpressMiddleware, FastifyHook, HonoContext, HonoMiddleware } from './serve/http/middleware.ts';
export type { NodeHandler } from './serve/http/node-handler.ts';
export type { HttpHandlerOptions, HttpServeContext, HttpServerFactory } from './serve/http/options.ts';
export type { FetchOptions } from './serve/http/sdk.ts';
export type { ServeContext, ServerFactory, ServeStdioOptions, StdioServer } from './serve/stdio.ts';
