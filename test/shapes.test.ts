/** The shapes come up as they say, and the check for survivors can fail: it names what a careless kill leaves behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newMarker, SHAPES, type Shape, sizeOf } from '../bench/src/shapes/shapes.ts';
import { killAll, type Seen, stillRunning, survivors } from '../bench/src/shapes/survivors.ts';
import { untilGone, untilUp } from '../bench/src/shapes/watching.ts';

interface Started {
  readonly marker: string;
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly up: readonly Seen[];
}

async function start(shape: Shape, env: NodeJS.ProcessEnv): Promise<Started> {
  const marker = newMarker();
  const [command, ...args] = shape.command(marker);
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'], env });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    killAll(marker);
    child.stdout?.destroy();
    await exited;
  });
  return { marker, child, exited, up: await untilUp(shape, marker) };
}

const named = (name: string): Shape => SHAPES.find((shape) => shape.name === name) as Shape;
const env = process.env;

describe.runIf(process.platform === 'linux')('a shape', () => {
  test.each(SHAPES.map((shape) => [shape.name, shape] as const))('%s: is up, in any environment', async (_, shape) => {
    const { up, marker } = await start(shape, {});
    expect(up).toHaveLength(sizeOf(shape));
    expect(survivors(marker).map(({ pid }) => pid)).toEqual(up.map(({ pid }) => pid));
  });

  test.each(SHAPES.filter((shape) => sizeOf(shape) > 1).map((shape) => [shape.name, shape] as const))(
    '%s: when its child alone is killed, all the others are named',
    async (_, shape) => {
      const { up, marker, child, exited } = await start(shape, env);
      child.kill('SIGKILL');
      await exited;
      const left = survivors(marker);
      const others = up.filter(({ pid }) => pid !== child.pid);
      expect(left.map(({ pid }) => pid)).toEqual(expect.arrayContaining(others.map(({ pid }) => pid)));
      expect(stillRunning(up)).toHaveLength(others.length);
      for (const { command } of left) expect(command).toContain(marker);
    },
  );

  test('that is gone has no survivors, and two of a kind are told apart', async () => {
    const one = await start(named('setsid child'), env);
    const other = await start(named('setsid child'), env);
    killAll(one.marker);
    expect(await untilGone(one.marker, one.up, 5_000)).toMatchObject({ left: [] });
    expect(survivors(one.marker)).toEqual([]);
    expect(survivors(other.marker)).toHaveLength(2);
  });

  test.each(['fork bomb', 'fork bomb of sessions'])('%s: forks anew what is killed one by one', async (name) => {
    const { marker, up } = await start(named(name), env);
    const sleeping = up.filter((one) => one.name === 'sleep');
    for (const { pid } of sleeping) process.kill(pid, 'SIGKILL');
    const isNew = ({ pid, name }: Seen) => name === 'sleep' && !sleeping.some((old) => old.pid === pid);
    await expect.poll(() => survivors(marker).filter(isNew).length, { timeout: 10_000 }).toBeGreaterThan(5);
  });
});
