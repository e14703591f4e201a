/** What the commands of calls are made of, see `subjects/shapes.sh`: each with the number of its processes. */

export const SHAPES = {
  plain: 1,
  pipes: 3,
  traps: 2,
  setsid: 2,
  orphan: 2,
  daemon: 2,
  deaf: 2,
  headless: 1,
  tree: 6,
} as const;

export type Shape = keyof typeof SHAPES;
export const SHAPE_NAMES = Object.keys(SHAPES) as Shape[];
