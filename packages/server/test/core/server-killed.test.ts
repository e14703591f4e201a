/** A server that is killed by SIGKILL takes with it what its calls have started, in every shape: seen from outside. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { newMarker, SHAPES, type Shape } from '../../../../bench/src/shapes/shapes.ts';
import { killAll, type Seen } from '../../../../bench/src/shapes/survivors.ts';
import { untilGone, untilUp } from '../../../../bench/src/shapes/watching.ts';
import { canHaveCgroups } from '../support/cgroups.ts';
import { startSubject } from '../support/child.ts';

/** Generous: the reaper is a shell, and looks through all processes round after round. */
const GONE_WITHIN_MS = 20_000;
const hasCgroups = await canHaveCgroups();

describe.runIf(process.platform === 'linux')('a server is killed', () => {
  test.each(byName(SHAPES.filter(({ traceless }) => !traceless)))('%s: nothing of it is left', async (_, shape) => {
    expect(await leftBy(shape, false)).toEqual([]);
  });

  describe.skipIf(!hasCgroups)(`in a control group${hasCgroups ? '' : ' (none can be made here)'}`, () => {
    test.each(byName(SHAPES.filter(({ traceless }) => traceless)))('%s: nothing of it is left', async (_, shape) => {
      expect(await leftBy(shape, true)).toEqual([]);
    });
  });
});

async function leftBy(shape: Shape, cgroups: boolean): Promise<readonly Seen[]> {
  const marker = newMarker();
  const [command, ...args] = shape.command(marker);
  const server = startSubject('spawns.mjs');
  onTestFinished(() => killAll(marker));
  server.process.stdin.end(JSON.stringify({ command, args, cgroups }));
  const up = await untilUp(shape, marker);
  server.process.kill('SIGKILL');
  await server.exited;
  return (await untilGone(marker, up, GONE_WITHIN_MS)).left;
}

function byName(shapes: readonly Shape[]): (readonly [string, Shape])[] {
  return shapes.map((shape) => [shape.name, shape] as const);
}
