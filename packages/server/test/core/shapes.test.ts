/**
 * Every shape that work takes, ended by a stop, on a real clock: what estop says of it is true, seen from outside.
 *
 * The one who looks (`bench/src/shapes/survivors.ts`) goes by a marker in the command lines, and so by nothing that
 * estop goes by. That it does see what a kill has missed is shown in `test/shapes.test.ts`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cancelled } from '@estop/server/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newMarker, SHAPES, type Shape, sizeOf } from '../../../../bench/src/shapes/shapes.ts';
import { killAll, survivors } from '../../../../bench/src/shapes/survivors.ts';
import { untilUp } from '../../../../bench/src/shapes/watching.ts';
import { canHaveCgroups } from '../support/cgroups.ts';
import { type Real, real } from '../support/real.ts';

const PLAIN = named('plain child');
const TRACEABLE = SHAPES.filter(({ traceless }) => !traceless);

const hasCgroups = await canHaveCgroups();

type Running = ReturnType<Real['spawn']> & { readonly marker: string };

const engine = (cgroups: boolean): Real => real({ termMs: 300, cgroups });

/** A call that has started the shape, which is up. */
async function run({ spawn }: Real, shape: Shape): Promise<Running> {
  const marker = newMarker();
  onTestFinished(() => killAll(marker));
  const [command, ...args] = shape.command(marker);
  const started = spawn(command, args);
  started.child.stdin.end();
  started.child.stdout.resume();
  started.child.stderr.resume();
  await untilUp(shape, marker);
  return { ...started, marker };
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

async function stopped({ call, returns, left }: Running): Promise<string> {
  expect(call.stop(cancelled('client'))).toBe(true);
  returns();
  await left();
  return call.workFact;
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
        const calls = engine(cgroups);
        const [one, other, stranger] = await Promise.all([run(calls, shape), run(calls, shape), runAlone(shape)]);

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
      const { call, returns, marker, left } = await run(engine(cgroups), shape);
      returns();
      await left();
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
      const one = await run(engine(false), shape);
      expect(await stopped(one)).toBe('none-found');
      expect(survivors(one.marker)).toHaveLength(1);
    },
  );

  test.skipIf(!hasCgroups).each(TRACELESS)('%s, in a control group: it is ended', async (_, shape) => {
    const one = await run(engine(true), shape);
    expect(await stopped(one)).toBe('ended');
    expect(survivors(one.marker)).toEqual([]);
  });
});

test.skipIf(process.platform !== 'linux')('many calls are stopped at once: nothing is left of any', async () => {
  const shapes = [...TRACEABLE.filter((shape) => sizeOf(shape) < 10), PLAIN];
  const calls = engine(false);
  const all = await Promise.all(shapes.map((shape) => run(calls, shape)));
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
