/**
 * `estop/kit`: the tool that a server registers to be probed all the way into its handler.
 *
 *     server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'forward' }));
 *
 * SDK v1 takes a shape of zod in the place of `config` (docs/kit.md has the line).
 * The handler waits where the probe tells it to, does its work as an HTTP request to the probe's witness, and says what
 * it sees. How it treats its abort signal is yours to choose; that it *had* the signal is reported in any case.
 * It works with the official SDKs, v1 and v2, with estop's own server, and in a worker thread. Does nothing outside a probe.
 */
import { type Checkpoint, openControl } from './control.ts';

export interface SlowMarkerArgs {
  test_id: string;
  /** Where the work is: a request that is answered when it has committed. */
  work_url: string;
}

/** What the handler uses of its context, whoever calls it. */
export interface HandlerContext {
  /** SDK v1, estop's façade and its threads. */
  readonly signal?: AbortSignal;
  /** SDK v1. */
  readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined;
  readonly sendNotification?: (notification: ProgressNotification) => Promise<void>;
  /** SDK v2. */
  readonly mcpReq?: {
    readonly signal: AbortSignal;
    readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined;
    readonly notify?: (notification: ProgressNotification) => Promise<void>;
  };
}

export interface ProgressNotification {
  method: 'notifications/progress';
  params: { progressToken: string | number; progress: number; total: number };
}

export interface SlowMarkerOptions {
  /**
   * - `forward`: hands the signal on to the work. As it should be.
   * - `listen`: ends itself on the signal, and lets the work go on.
   * - `ignore`: goes on, and so does the work.
   */
  readonly onSignal: 'forward' | 'listen' | 'ignore';
  /** Reports progress on its way, if the caller asked for it. Default: no. With the SDKs only, v1 and v2. */
  readonly progress?: boolean;
}

export type SlowMarkerHandler = (
  args: SlowMarkerArgs,
  context: HandlerContext,
) => Promise<{ content: { type: 'text'; text: string }[] }>;

export function slowMarker({ onSignal, progress = false }: SlowMarkerOptions): SlowMarkerHandler {
  return async ({ test_id, work_url }, context) => {
    const control = openControl(test_id);
    const signal = context.mcpReq?.signal ?? context.signal;
    const acts = onSignal === 'ignore' ? undefined : signal;
    const forwarded = onSignal === 'forward' ? signal : undefined;

    // Not removed at the end: a signal that comes after the answer is worth a line as well.
    const heard = (): void => void control.post({ event: 'handler_signal', reason: text(signal?.reason) });
    if (signal?.aborted) heard();
    else signal?.addEventListener('abort', heard, { once: true });

    let checkpoint: Checkpoint = 'before_work';
    const reach = async (next: Checkpoint, step: number): Promise<void> => {
      checkpoint = next;
      if (progress) await report(context, step);
    };
    try {
      await reach('before_work', 1);
      await unlessStopped(acts, () => control.gate('before_work', acts));

      checkpoint = 'waiting_on_work';
      await unlessStopped(acts, () => work(work_url, forwarded));
      await control.post({ event: 'handler_got_result' });

      await reach('release_response', 2);
      await unlessStopped(acts, () => control.gate('release_response', acts));
      await reach('release_response', 3);

      await control.post({ event: 'handler_exited', how: 'returned' });
      return { content: [{ type: 'text', text: 'committed' }] };
    } catch (error) {
      if (acts?.aborted) await control.post({ event: 'handler_acted', checkpoint });
      await control.post({ event: 'handler_exited', how: 'threw' });
      throw acts?.aborted ? acts.reason : error;
    } finally {
      control.hangUp();
    }
  };
}

/** Plain `fetch`, as a tool would use it; it gives up by itself on an answer that takes five minutes. */
async function work(url: string, signal: AbortSignal | undefined): Promise<void> {
  const response = await fetch(url, { method: 'POST', signal: signal ?? null });
  const said = await response.text();
  if (!response.ok) throw new Error(`estop kit: the work answered ${response.status}: ${said.slice(0, 200)}`);
}

/** The step, or the signal's reason if that fires first; the step's own end is then nobody's concern. */
async function unlessStopped(signal: AbortSignal | undefined, step: () => Promise<void>): Promise<void> {
  signal?.throwIfAborted();
  const running = step();
  if (!signal) return running;
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    await Promise.race([running, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A notification that cannot be sent, as after a cancel, is no failure of the tool. */
async function report(context: HandlerContext, step: number): Promise<void> {
  const { mcpReq } = context;
  const progressToken = (mcpReq ?? context)._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress: step, total: 3 };
  const progress = { method: 'notifications/progress', params } as const;
  await (mcpReq ? mcpReq.notify?.(progress) : context.sendNotification?.(progress))?.catch(() => {});
}

function text(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

const jsonSchema = {
  type: 'object',
  properties: { test_id: { type: 'string' }, work_url: { type: 'string' } },
  required: ['test_id', 'work_url'],
};

type Validated = { value: SlowMarkerArgs; issues?: undefined } | { issues: { message: string }[] };

/** A Standard Schema, made by hand: a subject needs no schema library to be probed. */
const inputSchema = {
  '~standard': {
    version: 1 as const,
    vendor: 'estop',
    types: undefined as { input: SlowMarkerArgs; output: SlowMarkerArgs } | undefined,
    validate(value: unknown): Validated {
      const { test_id, work_url } = Object(value);
      return typeof test_id === 'string' && typeof work_url === 'string'
        ? { value: { test_id, work_url } }
        : { issues: [{ message: 'test_id and work_url must be strings' }] };
    },
    jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
  },
};

export const slowMarkerTool = {
  name: 'slow_marker',
  config: {
    description: 'Does a piece of work that the estop probe watches. For tests of cancellation only.',
    inputSchema,
  },
};
