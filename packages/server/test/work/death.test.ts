/**
 * A server dies, in each way there is, and takes what its calls have started with it. Looked at from outside, by the
 * marks of `survivors.ts`; with control groups and without, where it is harder.
 */
import { existsSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { type StdioPeer, startServer } from '../support/child.ts';
import { SHAPE_NAMES, SHAPES, type Shape } from '../support/shapes.ts';
import {
  cgroupHomeOf,
  gone,
  killMarked,
  marked,
  newMark,
  over,
  reapersOf,
  signal,
  sleepers,
  sleeping,
  until,
} from '../support/survivors.ts';

const DEATHS: Readonly<Record<string, { of(peer: StdioPeer): void; exit: object }>> = {
  'its stdin ends': { of: (peer) => peer.end(), exit: { code: 0, signal: null } },
  SIGTERM: { of: (peer) => peer.child.process.kill('SIGTERM'), exit: { code: null, signal: 'SIGTERM' } },
  SIGINT: { of: (peer) => peer.child.process.kill('SIGINT'), exit: { code: null, signal: 'SIGINT' } },
  'SIGHUP, which nobody hears': {
    of: (peer) => peer.child.process.kill('SIGHUP'),
    exit: { code: null, signal: 'SIGHUP' },
  },
  SIGKILL: { of: (peer) => peer.child.process.kill('SIGKILL'), exit: { code: null, signal: 'SIGKILL' } },
  'an exception that nobody catches': {
    of: (peer) => peer.write(peer.callTool(99, 'throw')),
    exit: { code: 1, signal: null },
  },
  'process.exit() in a handler': {
    of: (peer) => peer.write(peer.callTool(99, 'exit')),
    exit: { code: 3, signal: null },
  },
  'SIGKILL, while its main loop spins': {
    of: (peer) => {
      peer.write(peer.callTool(99, 'spin'));
      void peer.child.said('spinning').then(() => peer.child.process.kill('SIGKILL'));
    },
    exit: { code: null, signal: 'SIGKILL' },
  },
};

afterEach(killMarked);

describe.each(['on', 'off'])('control groups %s: nothing of any shape is left when a server dies by', (CGROUPS) => {
  test.each(Object.keys(DEATHS))('%s', async (way) => {
    const { of, exit } = DEATHS[way] as (typeof DEATHS)[string];
    const server = await startServer('modern', { CGROUPS }, 'work-server.mjs');
    const marks = await startAll(server, SHAPE_NAMES);
    const [reaper] = await reapers(server);
    const groups = cgroupHomeOf(sleepers(marks[0] as string)[0] as number);
    if (CGROUPS === 'off') expect(groups).toBeUndefined();
    of(server);
    expect(await server.child.exited).toEqual(exit);
    await gone(...marks);
    await over(reaper as number);
    expect(groups !== undefined && existsSync(groups)).toBe(false);
  });

  test('a child with `detach` lives on, and only that', async () => {
    const server = await startServer('legacy', { CGROUPS }, 'work-server.mjs');
    const marks = await startAll(server, ['plain', 'setsid']);
    const detached = newMark();
    server.write(server.callTool(50, 'detach', { mark: detached }));
    await server.answer(50);
    const [pid] = await sleeping(detached, 1);
    const [reaper] = await reapers(server);
    server.child.process.kill('SIGKILL');
    await gone(...marks);
    // From then on nobody is there who would end it.
    await over(reaper as number);
    expect(marked(detached)).toEqual([pid]);
  });

  test('the reaper is killed while the server lives: another one comes, knows what is there, and does its work', async () => {
    const server = await startServer('modern', { CGROUPS }, 'work-server.mjs');
    const marks = await startAll(server, SHAPE_NAMES);
    for (let time = 0; time < 2; time += 1) await anotherReaper(server);
    marks.push(...(await startAll(server, ['plain', 'daemon'], 30)));
    server.child.process.kill('SIGKILL');
    await server.child.exited;
    await gone(...marks);
  });

  test('a reaper that is asked to go stays', async () => {
    const server = await startServer('modern', { CGROUPS }, 'work-server.mjs');
    const marks = await startAll(server, ['plain', 'deaf']);
    const [reaper] = await reapers(server);
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGPIPE'] as const) signal(reaper as number, name);
    // Heard by now, if it is heard: the answer of a process that was started later is there.
    marks.push(...(await startAll(server, ['plain'], 30)));
    expect(await reapers(server)).toEqual([reaper]);
    server.child.process.kill('SIGKILL');
    await gone(...marks);
  });
});

test.each(['its stdin ends', 'SIGTERM'])('a server of SDK v1 leaves nothing either when %s', async (way) => {
  const { of, exit } = DEATHS[way] as (typeof DEATHS)[string];
  const server = await startServer('legacy', { SDK: 'v1' }, 'work-server.mjs');
  const marks = await startAll(server, SHAPE_NAMES);
  of(server);
  expect(await server.child.exited).toEqual(exit);
  await gone(...marks);
});

/** Each as a call of its own; all of their processes run. */
async function startAll(server: StdioPeer, shapes: readonly Shape[], firstId = 1): Promise<string[]> {
  const marks = shapes.map((shape, index) => {
    const mark = newMark();
    server.write(server.callTool(firstId + index, 'hold', { shape, mark }));
    return mark;
  });
  await Promise.all(
    shapes.map((shape, index) =>
      // Its own command has ended, and the call with it: what is left is on its way out.
      shape === 'headless' ? server.answer(firstId + index) : sleeping(marks[index] as string, SHAPES[shape]),
    ),
  );
  return marks;
}

async function reapers(server: StdioPeer): Promise<number[]> {
  return until(
    () => reapersOf(server.child.process.pid as number),
    (pids) => pids.length === 1,
    (pids) => `the server has one reaper, not ${pids.length}`,
  );
}

async function anotherReaper(server: StdioPeer): Promise<void> {
  const [before] = await reapers(server);
  signal(before as number);
  await until(
    () => reapersOf(server.child.process.pid as number),
    ([pid]) => pid !== undefined && pid !== before,
    () => 'another reaper has come',
  );
}
