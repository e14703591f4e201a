/**
 * The façade's tools as a server of the official SDK, which estop then protects like any other.
 *
 * The SDK is loaded when something is served, and not before.
 */
import { callOf } from '../sdk/bind.ts';
import { askClient, log, tell } from '../sdk/client.ts';
import type { ContextShape, ProtectableServer } from '../sdk/shapes.ts';
import type { ContextHost } from './context.ts';
import type { InProcess } from './in-process.ts';
import { resultOf, type ToolResult } from './result.ts';
import { ANYTHING } from './schema.ts';
import type { Tool } from './tool.ts';

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly instructions?: string | undefined;
}

export interface SdkServer extends ProtectableServer {
  readonly server: { onclose?: (() => void) | undefined };
  registerTool(name: string, config: object, handler: (args: unknown, context: ContextShape) => unknown): unknown;
}

export type NewSdkServer = new (info: object, options: object) => SdkServer;

/** @throws Error when `@modelcontextprotocol/server` is not installed */
export async function loadSdk(): Promise<NewSdkServer> {
  const name = '@modelcontextprotocol/server';
  try {
    return ((await import(name)) as { McpServer: NewSdkServer }).McpServer;
  } catch (cause) {
    throw new Error('estop: serve() needs @modelcontextprotocol/server 2.x: npm i @modelcontextprotocol/server', {
      cause,
    });
  }
}

export function sdkServer(McpServer: NewSdkServer, { name, version, instructions }: ServerInfo): SdkServer {
  // Said before any tool is there: a server that is connected can say no more of what it can do.
  const capabilities = { tools: { listChanged: true }, logging: {} };
  return new McpServer({ name, version }, { capabilities, ...(instructions !== undefined && { instructions }) });
}

/** Adds a tool; a server that is connected tells its client that its tools have changed. */
export function register(server: SdkServer, tool: Tool, inProcess: InProcess): void {
  const config = {
    ...tool.shown,
    inputSchema: tool.input ?? ANYTHING,
    ...(tool.output && { outputSchema: tool.output }),
  };
  server.registerTool(tool.name, config, async (args, context): Promise<ToolResult> => {
    const call = callOf(context);
    if (call === undefined) throw new Error(`estop: ${tool.what} was reached past protect()`);
    const host: ContextHost = {
      tell: (progress) => tell(context, progress),
      log: (...line) => log(context, line),
      ask: (...question) => askClient(context, ...question),
      callTool: inProcess.nested,
    };
    return resultOf(await tool.handle(call, args, host), tool.what, tool.output !== undefined);
  });
}
