/**
 * Every shape that work takes, ended by a stop, on a real clock: what estop says of it is true, seen from outside.
 *
 * The one who looks (`bench/src/shapes/survivors.ts`) goes by a marker in the command lines, and so by nothing that
 * estop goes by. That it does see what a kill has missed is shown in `test/shapes.test.ts`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Call, cancelled, Engine } from '@estop/server/core';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { newMarker, SHAPES, type Shape, sizeOf } from '../../../../bench/src/shapes/shapes.ts';
import { killAll, survivors } from '../../../../bench/src/shapes/survivors.ts';
import { untilUp } from '../../../../bench/src/shapes/watching.ts';
import { type Latch, latch, soon } from '../support/waiting.ts';

const PLAIN = named('plain child');
const TRACEABLE = SHAPES.filter(({ traceless }) => !traceless);

interface Running {
  readonly marker: string;
  readonly call: Call;
  readonly left: Promise<void>;
  /** Ends the handler. */
  readonly handler: Latch;
}

const engines = {
  true: new Engine({ graceMs: 0, termMs: 300, cleanupMs: Infinity, cgroups: true }),
  false: new Engine({ graceMs: 0, termMs: 300, cleanupMs: Infinity, cgroups: false }),
};
afterAll(() => Promise.all(Object.values(engines).map((engine) => engine.close())));

let calls = 0;

/** A call whose handler has started the shape, which is up; and whose handler goes on. */
async function run(shape: Shape, cgroups: boolean): Promise<Running> {
  const marker = newMarker();
  const [left, handler] = [latch(), latch()];
  calls += 1;
  const call = engines[`${cgroups}`].begin({
    scope: 'connection:1',
    id: calls,
    method: 'tools/call',
    name: 'scrape',
    owner: { left: () => left.open() },
  });
  const [command, ...args] = shape.command(marker);
  const ran = call.run(
    async () => {
      const { stdin, stdout, stderr } = call.spawn(command, args);
      stdin.end();
      stdout.resume();
      stderr.resume();
      call.onStop(handler.fail);
      await handler.promise;
    },
    { timeoutMs: Infinity },
  );
  ran.catch(() => {});
  onTestFinished(async () => {
    call.stop(cancelled('library'));
    killAll(marker);
    await soon(left.promise, 'the call leaves in the end');
  });
  await untilUp(shape, marker);
  return { marker, call, left: left.promise, handler };
}

/** The same, started by nobody's call. */
async function runAlone(shape: Shape): Promise<string> {
  const marker = newMarker();
  const [command, ...args] = shape.command(marker);
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.resume();
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    killAll(marker);
    await exited;
  });
  await untilUp(shape, marker);
  return marker;
}

async function stopped({ call, left }: Running): Promise<string> {
  expect(call.stop(cancelled('client'))).toBe(true);
  await soon(left, 'the call leaves');
  return call.workFact;
}

const hasCgroups = process.platform === 'linux' && (await canHaveCgroups());

/** Whether a control group can be made here shows in what is said of a child that was in one. */
async function canHaveCgroups(): Promise<boolean> {
  const left = latch();
  const owner = { left: () => left.open() };
  const call = engines.true.begin({ scope: 'connection:1', id: 0, method: 'tools/call', name: 'try', owner });
  await call.run(() => call.spawn('true').output(), { timeoutMs: Infinity });
  await left.promise;
  return call.workFact === 'ended';
}

const withAndWithout = [
  ['in no control group', false, process.platform !== 'linux'],
  [`in a control group${hasCgroups ? '' : ' (none can be made here)'}`, true, !hasCgroups],
] as const;

describe.each(withAndWithout)('%s', (_, cgroups, isSkipped) => {
  describe.skipIf(isSkipped)('a call is stopped', () => {
    test.each(byName(TRACEABLE))(
      '%s: nothing is left, and the same of another call, and of nobody, runs on',
      async (_, shape) => {
        const [one, other, stranger] = await Promise.all([run(shape, cgroups), run(shape, cgroups), runAlone(shape)]);

        const fact = await stopped(one);
        expect(survivors(one.marker)).toEqual([]);
        expect(fact).toBe(cgroups ? 'ended' : 'none-found');

        expect(survivors(other.marker)).toHaveLength(sizeOf(shape));
        expect(other.call.outcome()).toMatchObject({ state: 'running', work: 'unknown' });
        expect(await stopped(other)).toBe(fact);
        expect(survivors(other.marker)).toEqual([]);

        expect(survivors(stranger)).toHaveLength(sizeOf(shape));
      },
    );
  });

  test.skipIf(isSkipped).each(byName(TRACEABLE))(
    '%s: a call that ends well leaves nothing either',
    async (_, shape) => {
      const { call, handler, marker, left } = await run(shape, cgroups);
      handler.open();
      await soon(left, 'the call leaves');
      expect(survivors(marker)).toEqual([]);
      expect(call.outcome()).toMatchObject({ state: 'completed', work: cgroups ? 'ended' : 'none-found' });
    },
  );
});

describe('a process without a group, a parent or an environment that would tell of it', () => {
  const TRACELESS = byName(SHAPES.filter(({ traceless }) => traceless));

  test.skipIf(process.platform !== 'linux').each(TRACELESS)(
    '%s, in no control group: it gets away, and nobody says that it has ended',
    async (_, shape) => {
      const one = await run(shape, false);
      expect(await stopped(one)).toBe('none-found');
      expect(survivors(one.marker)).toHaveLength(1);
    },
  );

  test.skipIf(!hasCgroups).each(TRACELESS)('%s, in a control group: it is ended', async (_, shape) => {
    const one = await run(shape, true);
    expect(await stopped(one)).toBe('ended');
    expect(survivors(one.marker)).toEqual([]);
  });
});

test.skipIf(process.platform !== 'linux')('many calls are stopped at once: nothing is left of any', async () => {
  const shapes = [...TRACEABLE.filter((shape) => sizeOf(shape) < 10), PLAIN];
  const all = await Promise.all(shapes.map((shape) => run(shape, false)));
  const facts = await Promise.all(all.map(stopped));
  expect(all.flatMap(({ marker }) => survivors(marker))).toEqual([]);
  expect(new Set(facts)).toEqual(new Set(['none-found']));
});

function byName(shapes: readonly Shape[]): (readonly [string, Shape])[] {
  return shapes.map((shape) => [shape.name, shape] as const);
}

function named(name: string): Shape {
  return SHAPES.find((shape) => shape.name === name) as Shape;
}
