/** What the tests of the kit and of the clients share: a control plane, a witness, and a call of the kit's tool. */
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { startWitness } from '../dist/probe/witness/witness.js';
import type { SlowMarkerOptions } from '../src/kit/index.ts';
import { startControlPlane } from '../src/probe/control-plane.ts';
import type { Era } from '../src/probe/events.ts';
import type { Log } from '../src/probe/log.ts';
import { createCapture, newTestId } from '../src/probe/subject/capture.ts';
import type { ConnectClient } from '../src/probe/subject/client.ts';
import { connectSdkV2 } from '../src/probe/subject/sdk-v2.ts';
import { startSubject } from '../src/probe/subject/subject.ts';
import { seen, tempDir, tempLog, WAIT_MS } from './probe-fixture.ts';

export async function startHarness() {
  const log = tempLog();
  const control = await startControlPlane(log);
  onTestFinished(() => control.close());
  const witness = await startWitness({ log, markers: tempDir() });
  onTestFinished(() => witness.close());
  const testId = newTestId();
  control.expect(testId);
  witness.arm(testId, { hold: false });
  return { log, control, witness, testId, args: { test_id: testId, work_url: witness.url(testId) } };
}

interface CallOptions {
  readonly era: Era;
  readonly onSignal: SlowMarkerOptions['onSignal'];
  /** Of `test/fixtures`; it reads `ON_SIGNAL`. */
  readonly server?: string;
  readonly connect?: ConnectClient;
}

/** A real server in a process of its own, a real client, and one call of the kit's tool. */
export async function startCall({ era, onSignal, server = 'kit-server', connect = connectSdkV2 }: CallOptions) {
  const harness = await startHarness();
  const { log, control, testId, args } = harness;
  const capture = createCapture(log);
  capture.expect(testId);
  const command = [process.execPath, fileURLToPath(new URL(`fixtures/${server}.mjs`, import.meta.url))];
  const env = { ...control.env, ON_SIGNAL: onSignal };
  const subject = await startSubject({ command, env, era, log, capture });
  onTestFinished(() => subject.stop());
  const client = await connect(subject.endpoint, era, WAIT_MS);
  const abort = new AbortController();
  const settled = client.call('slow_marker', args, abort.signal).then(
    (result) => ({ result }),
    (error: unknown) => ({ settlement: client.settlementOf(error, abort.signal) }),
  );
  await seen(log, testId, 'handler_started');
  return { ...harness, client, subject, abort, settled };
}

/** What the handlers of an attempt told, in order. */
export function told(log: Log, testId: string): string[] {
  return log
    .of(testId)
    .filter((line) => line.source === 'handler')
    .map((line) => line.event);
}
