/**
 * One call that nobody cancels and whose handler never comes back: is its caller ever answered?
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { HungCall } from './claims.ts';

/** ms; the protected servers give the call 500. */
const WATCH_MS = 5_000;

/** Rejects when `interrupt` fires, once its server is gone. */
export async function hungCall(file: string, interrupt: AbortSignal): Promise<HungCall> {
  const client = new Client({ name: 'demo', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [file], stderr: 'ignore' }));
  const watch = new AbortController();
  const end = (): void => watch.abort();
  interrupt.addEventListener('abort', end);
  if (interrupt.aborted) end();
  const answered = client.callTool({ name: 'hang' }, { signal: watch.signal }).then((result): HungCall => {
    if (result.isError !== true) throw new Error('the call that hangs came back');
    return 'answered at its deadline';
  });
  // When the watch is over its rejection is ours, and nobody's news.
  answered.catch(() => {});
  try {
    return await Promise.race([answered, delay(WATCH_MS, 'not answered in 5 s' as const, { signal: watch.signal })]);
  } finally {
    end();
    interrupt.removeEventListener('abort', end);
    await client.close();
  }
}
