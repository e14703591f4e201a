/**
 * The tools of one server, by name: what each may do with its calls, and who is not there.
 */
import type { RunOptions, Slots } from '../core/index.ts';
import type { Rules } from '../sdk/rules.ts';
import type { ToolSchema } from './schema.ts';
import { type Tool, type ToolDefinition, toolOf } from './tool.ts';

/** Names that an error lists; a server may have many. */
const MOST_LISTED = 20;

export class Tools implements Iterable<Tool> {
  readonly #tools = new Map<string, Tool>();
  readonly #others: RunOptions;
  readonly #slots: Slots;

  /** @param others what holds for a call where its tool says nothing */
  constructor(others: RunOptions, slots: Slots) {
    this.#others = others;
    this.#slots = slots;
  }

  /** @throws TypeError or RangeError for what is wrong with it, naming the tool; then it is not added */
  add(definition: ToolDefinition<ToolSchema | undefined>): Tool {
    if (this.#tools.has(definition?.name)) {
      throw new TypeError(`estop: tool ${JSON.stringify(definition.name)}: there is one with this name already`);
    }
    const tool = toolOf(definition, this.#others, this.#slots);
    this.#tools.set(tool.name, tool);
    return tool;
  }

  /** @throws TypeError when there is none with this name, with the names that there are */
  get(name: string): Tool {
    const tool = this.#tools.get(name);
    if (tool !== undefined) return tool;
    const names = [...this.#tools.keys()];
    const known = names.slice(0, MOST_LISTED).map((known) => JSON.stringify(known));
    if (names.length > MOST_LISTED) known.push(`${names.length - MOST_LISTED} more`);
    throw new TypeError(
      `estop: there is no tool ${JSON.stringify(name)}; there ${known.length === 0 ? 'is none at all' : `are: ${known.join(', ')}`}`,
    );
  }

  /** Also of tools that are added later. */
  readonly rules: Rules = (method, name) => {
    const tool = method === 'tools/call' && name !== undefined ? this.#tools.get(name) : undefined;
    return tool?.rule ?? this.#others;
  };

  [Symbol.iterator](): Iterator<Tool> {
    return this.#tools.values();
  }
}
