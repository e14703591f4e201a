/**
 * A tool as its author writes it, and all that is checked about it where it is written.
 */
import { type Call, type RunOptions, type Slots, show } from '../core/index.ts';
import { ruleOf, type ToolOptions } from '../sdk/rules.ts';
import { type ContextHost, contextOf, type ToolContext } from './context.ts';
import { type ArgsOf, checkSchema, type ToolSchema } from './schema.ts';

/** The SDK's hints for clients; estop acts on none of them. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export interface ToolDefinition<Input extends ToolSchema | undefined = undefined> extends ToolOptions {
  /** Unique in its server. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** Checks the arguments before the handler sees them. Without it they pass through as they came, unchecked. */
  readonly input?: Input;
  /** Checks what the handler returned, for clients, and shows them its shape. */
  readonly output?: ToolSchema | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  /**
   * Its return value becomes the tool's result: a text one text, nothing no content, anything else its JSON; a value
   * with a `content` array is a result already. What it throws is an error result with its message.
   */
  handler(args: ArgsOf<Input>, context: ToolContext): unknown;
}

/** A tool that has been checked. */
export interface Tool {
  readonly name: string;
  /** `tool "scrape"`, for sentences. */
  readonly what: string;
  readonly input: ToolSchema | undefined;
  readonly output: ToolSchema | undefined;
  /** What else clients are shown. */
  readonly shown: Pick<ToolDefinition, 'title' | 'description' | 'annotations'>;
  readonly rule: RunOptions;
  /** Runs the handler; never after the call's stop, which may have come while the arguments were checked. */
  handle(call: Call, args: unknown, host: ContextHost): unknown;
}

/**
 * @param others what holds where the tool says nothing
 * @throws TypeError or RangeError for what is wrong with it, naming the tool
 */
export function toolOf(definition: ToolDefinition<ToolSchema | undefined>, others: RunOptions, slots: Slots): Tool {
  const { name, title, description, annotations } = named(definition);
  const what = `tool ${JSON.stringify(name)}`;
  if (typeof definition.handler !== 'function') throw new TypeError(`estop: ${what}: handler must be a function`);
  const input = checkSchema(definition.input, what, 'input');
  const output = checkSchema(definition.output, what, 'output');
  return {
    name,
    what,
    input,
    output,
    shown: {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(annotations !== undefined && { annotations }),
    },
    rule: ruleOf(name, definition, others, slots),
    handle(call, args, host) {
      call.throwIfStopped();
      return definition.handler(args as never, contextOf(call, host));
    },
  };
}

/** The definition, when it has a name by which its other errors can be told. */
function named<T extends { readonly name?: unknown }>(definition: T): T {
  if (typeof definition !== 'object' || definition === null) {
    throw new TypeError('estop: tool() takes an object, such as { name, handler }');
  }
  const { name } = definition;
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`estop: tool(): name must be a non-empty string, got ${show(name)}`);
  }
  // The SDK keeps tools in an object, where these are taken: no client could be served.
  if (name in {}) throw new TypeError(`estop: tool ${JSON.stringify(name)}: the SDK can have no tool of this name`);
  return definition;
}
