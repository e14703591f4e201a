/**
 * A tool's function that runs elsewhere: declared like any handler, so that the SDK still validates what goes in and out.
 *
 * The thread or the process is ended when its call is stopped and the grace is over. A thread's exit is the proof that
 * the function stopped; it bounds time, not memory, and processes that the function started live on. A process bounds
 * both, and those go with it.
 */
import {
  checkCount,
  dataMbFor,
  type Engine,
  importable,
  NodeProcess,
  runInProcess,
  runInThread,
  show,
  Thread,
} from '../core/index.ts';
import { callOf } from './bind.ts';
import { clientOf } from './client.ts';
import type { HandlerContext } from './shapes.ts';

export interface IsolatedOptions {
  /**
   * `thread`: quick to start, bounded in time. `process`: bounded in memory too, and what it starts by itself is ended
   * with it; its end is proven where there are control groups, and elsewhere evident.
   */
  readonly kind: 'thread' | 'process';
  /** Where the function is: a `URL` (`new URL('./tool.js', import.meta.url)`), an absolute path, or a package's name. */
  readonly module: string | URL;
  /** The name of the exported function: `(args, context: CallContext) => result`. */
  readonly export: string;
  /**
   * How many are kept started ahead, with the module imported, so that a call need not wait for that; default 0.
   * Each takes one call. For one module the largest number counts.
   */
  readonly spares?: number | undefined;
  /** Only of processes: MB that its JavaScript heap may have; on Linux with its Buffers about 80 MB more than that. */
  readonly memoryMb?: number | undefined;
}

/**
 * What the function returns is the tool's result, as from any handler; it must be cloneable. Its arguments and its
 * result are the function's business, unknown here: `never` lets the SDK's callback types of either major accept it.
 */
export type IsolatedHandler = (...args: unknown[]) => Promise<never>;

/**
 * @returns a handler for `registerTool`; it rejects when its server is not protected
 * @throws TypeError at once when the module is named in a way that cannot be found, or is no file that exists
 */
export function isolated(options: IsolatedOptions, engine: Engine): IsolatedHandler {
  const { kind, spares: ahead = 0, memoryMb } = options ?? {};
  if (kind !== 'thread' && kind !== 'process') {
    throw new TypeError(`estop: isolated(): kind must be "thread" or "process", got ${show(kind)}`);
  }
  const module = importable(options.module, 'isolated()');
  if (typeof options.export !== 'string' || options.export === '') {
    throw new TypeError('estop: isolated(): export must be the name of an exported function');
  }
  checkBounds(kind, ahead, memoryMb);
  const settings = { memoryMb, cgroups: engine.cgroups };
  const start = (): Thread | NodeProcess =>
    kind === 'thread' ? new Thread(module, null) : new NodeProcess(module, null, settings);
  const spares = ahead > 0 ? engine.spares.keep(`${kind} ${memoryMb ?? ''} ${module}`, ahead, start) : undefined;
  return async (...given: unknown[]) => {
    // A handler without an input schema gets the context only.
    const context = given.at(-1) as HandlerContext;
    const args = given.length > 1 ? given[0] : {};
    const call = callOf(context);
    if (call === undefined) throw new Error('estop: an isolated tool needs a protected server: estop.protect(server)');
    const fn = { module, export: options.export, args, ...clientOf(context) };
    const running = kind === 'thread' ? runInThread(call, fn, spares) : runInProcess(call, fn, settings, spares);
    return (await running) as never;
  };
}

/** Less, and Node does not start. */
const LEAST_MEMORY_MB = 16;

function checkBounds(kind: IsolatedOptions['kind'], spares: number, memoryMb: number | undefined): void {
  checkCount(spares, 'isolated(): spares', 0);
  if (spares === Infinity) throw new RangeError('estop: isolated(): spares must be finite: each is started at once');
  if (memoryMb === undefined) return;
  if (kind === 'thread') {
    throw new TypeError(
      'estop: isolated(): memoryMb is for kind "process": threads share the memory of one process, and do not bound it',
    );
  }
  checkCount(memoryMb, 'isolated(): memoryMb', LEAST_MEMORY_MB);
  if (memoryMb === Infinity)
    throw new RangeError('estop: isolated(): memoryMb must be finite; leave it out for no limit');
  // Now, and not in the midst of the first call: it has to ask Node.
  dataMbFor(memoryMb);
}
