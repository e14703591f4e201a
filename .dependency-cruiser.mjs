/**
 * The house: which room may import which, for dependency-cruiser. `npm run arrows` fails on any other arrow, on a file
 * in no room, and on files that load each other in a circle.
 *
 * A target that is computed is not seen; nor is one that is started by its path (`new URL('./x.js', import.meta.url)`).
 */

/**
 * One row a room.
 *   at        the folder or file that it is
 *   rooms     the rooms of ours that it may import, besides itself
 *   types     the rooms of which it may import types, and nothing else
 *   packages  what else it may import besides `node:` builtins
 */
const ROOMS = {
  core: { at: 'packages/server/src/core/' },
  downstream: { at: 'packages/server/src/downstream/', rooms: ['core'] },
  sdk: { at: 'packages/server/src/sdk/', rooms: ['core'] },
  serve: { at: 'packages/server/src/serve/', rooms: ['sdk', 'core'] },
  facade: { at: 'packages/server/src/facade/', rooms: ['serve', 'sdk', 'core'] },
  server: { at: 'packages/server/src/[^/]+[.]ts', rooms: ['facade', 'serve', 'sdk', 'core'] },

  kit: { at: 'packages/estop/src/kit/' },
  probe: { at: 'packages/estop/src/probe/', packages: ['@modelcontextprotocol/client', '@modelcontextprotocol/sdk'] },
  report: { at: 'packages/estop/src/report/', types: ['probe'], packages: ['picocolors'] },
  cli: { at: 'packages/estop/src/cli/', rooms: ['probe', 'report'], packages: ['commander', 'picocolors'] },
};

/** Everyone outside the packages' sources comes through the front door, by a package's name; their own tests may not. */
const GUESTS = [
  'examples/',
  'bench/',
  'matrix/',
  'scripts/',
  'test/',
  'vitest[.]config[.]ts',
  '[.]dependency-cruiser[.]mjs',
];
const OWN_TESTS = 'packages/[^/]+/test/';

const places = (names) => names.map((name) => ROOMS[name].at);
const anyOf = (patterns) => patterns.map((pattern) => `^${pattern}`);
const inPackages = (names) => names.map((name) => `(^|/)node_modules/${name}/`);

function arrowsFrom([name, { at, rooms = [], types = [], packages = [] }]) {
  const may = [...rooms, ...types.map((room) => `types of ${room}`), ...packages, 'node: builtins'].join(', ');
  return [
    {
      name: `${name}-imports`,
      comment: `${name} may import ${may}, and nothing else`,
      severity: 'error',
      from: { path: `^${at}` },
      to: {
        pathNot: [...anyOf([at, ...places([...rooms, ...types])]), ...inPackages(packages)],
        dependencyTypesNot: ['core'],
      },
    },
    ...types.map((room) => ({
      name: `${name}-imports-types-of-${room}`,
      comment: `${name} may import types of ${room}, and nothing else of it`,
      severity: 'error',
      from: { path: `^${at}` },
      to: { path: anyOf(places([room])), dependencyTypesNot: ['type-only'] },
    })),
  ];
}

export default {
  forbidden: [
    ...Object.entries(ROOMS).flatMap(arrowsFrom),
    {
      name: 'guests-use-the-front-door',
      comment: 'examples, scripts and tests of the whole import packages by their names',
      severity: 'error',
      from: { path: anyOf(GUESTS) },
      to: { path: '^packages/[^/]+/src/' },
    },
    {
      name: 'in-a-room',
      comment: 'every file has a room: give it one in .dependency-cruiser.mjs',
      severity: 'error',
      from: { pathNot: [...anyOf([...places(Object.keys(ROOMS)), ...GUESTS, OWN_TESTS]), 'node_modules/', '/dist/'] },
      to: {},
    },
    {
      name: 'no-circle',
      comment: 'files that load each other in a circle; types load nothing',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'found',
      comment: 'what is imported is installed and exported',
      severity: 'error',
      // A stand-in module that a test copies to where its imports are.
      from: { pathNot: '^packages/estop/test/fixtures/stub-' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^packages/[^/]+/dist/'] },
    exclude: { path: ['^(examples|bench|matrix)/dist/'] },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
