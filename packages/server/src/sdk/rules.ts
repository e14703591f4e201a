/**
 * What an author's options come to for one call: how long it may run, and what it needs of the slots.
 *
 * Checked where they are given; made once for each tool, so that a call makes nothing.
 */
import { checkCount, checkTimeout, firstGiven, type RunOptions, type Slots } from '../core/index.ts';

export interface DeadlineOptions {
  /** ms that a call may run, from its handler's start; 0 and `Infinity`: no deadline. */
  readonly timeoutMs?: number | undefined;
  /** Each progress notification of a call starts its deadline anew. Default: none does. */
  readonly resetTimeoutOnProgress?: boolean | undefined;
  /** ms beyond which no progress extends a deadline; default: 10 times the deadline. 0 and `Infinity`: no ceiling. */
  readonly maxTotalTimeoutMs?: number | undefined;
}

export interface ToolOptions extends DeadlineOptions {
  /** Calls of this tool that run at once, in this process; default: no limit of its own. */
  readonly maxConcurrency?: number | undefined;
  /**
   * One call at a time: of this tool (`true`), or of all tools that name the same mutex. Stays shut until the handler
   * has settled and its work is not `unknown`, also when the caller was answered long before. `true` is the mutex that
   * has the tool's own name.
   */
  readonly sequential?: boolean | string | undefined;
}

export interface CallOptions extends DeadlineOptions {
  /** By the tool's name; also of tools that are registered later. */
  readonly tools?: Readonly<Record<string, ToolOptions>> | undefined;
}

export type Rules = (method: string, name: string | undefined) => RunOptions;

/**
 * @param where names the place for errors: `protect()`
 * @param fallback what holds where neither tool nor server says anything
 * @throws RangeError or TypeError for a bad option, naming the tool
 */
export function rulesOf(options: CallOptions, where: string, fallback: RunOptions, slots: Slots): Rules {
  const others = deadlineOf(options, `${where}: `, fallback);
  const given = Object.entries(options.tools ?? {});
  // All are checked before the first limit is made: what is refused leaves nothing behind.
  for (const [name, tool] of given) checkTool(name, tool);
  const tools = new Map(given.map(([name, tool]) => [name, ruleOf(name, tool, others, slots)]));
  return (method, name) => (name !== undefined && method === 'tools/call' && tools.get(name)) || others;
}

export function ruleOf(name: string, tool: ToolOptions, others: RunOptions, slots: Slots): RunOptions {
  checkTool(name, tool);
  const { maxConcurrency, sequential } = tool;
  const rule = deadlineOf(tool, `tool ${JSON.stringify(name)}: `, others);
  if (sequential) return { ...rule, gate: slots.mutex(sequential === true ? name : sequential) };
  return { ...rule, gate: maxConcurrency === undefined ? undefined : slots.limit(name, maxConcurrency) };
}

function checkTool(name: string, tool: ToolOptions): void {
  const what = `tool ${JSON.stringify(name)}`;
  if (typeof tool !== 'object' || tool === null) {
    throw new TypeError(`estop: ${what}: its options must be an object, such as { timeoutMs }`);
  }
  const { maxConcurrency, sequential } = tool;
  deadlineOf(tool, `${what}: `, { timeoutMs: Infinity });
  if (maxConcurrency !== undefined) checkCount(maxConcurrency, `${what}: maxConcurrency`, 1);
  if (sequential !== undefined && typeof sequential !== 'boolean' && (typeof sequential !== 'string' || !sequential)) {
    throw new TypeError(`estop: ${what}: sequential must be true, false or the name of a mutex`);
  }
  if (sequential && maxConcurrency !== undefined) {
    throw new TypeError(`estop: ${what}: sequential runs one call at a time, so leave maxConcurrency out`);
  }
}

export function deadlineOf(options: DeadlineOptions, where: string, others: RunOptions): RunOptions {
  const { timeoutMs, maxTotalTimeoutMs, resetTimeoutOnProgress } = options;
  const checked = (value: number | undefined, name: string): number | undefined =>
    value === undefined ? undefined : checkTimeout(value, `${where}${name}`);
  if (resetTimeoutOnProgress !== undefined && typeof resetTimeoutOnProgress !== 'boolean') {
    throw new TypeError(`estop: ${where}resetTimeoutOnProgress must be true or false`);
  }
  return {
    ...others,
    timeoutMs: firstGiven(checked(timeoutMs, 'timeoutMs'), others.timeoutMs),
    maxTotalTimeoutMs: checked(maxTotalTimeoutMs, 'maxTotalTimeoutMs') ?? others.maxTotalTimeoutMs,
    resetTimeoutOnProgress: resetTimeoutOnProgress ?? others.resetTimeoutOnProgress,
  };
}
