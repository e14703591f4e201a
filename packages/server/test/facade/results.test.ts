/** What a handler returns, and what its client gets. */
import { createMcpServer } from '@estop/server';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { ERAS } from '../support/peer.ts';
import { appOn, clientOf } from './app.ts';

const RESULT = { content: [{ type: 'text', text: 'by hand' }], isError: true };

describe.each(ERAS)('%s: a plain return value becomes a result:', (era) => {
  test.each<[string, unknown, object]>([
    ['a text is one text', 'plain', { content: [{ type: 'text', text: 'plain' }] }],
    ['an empty text too', '', { content: [{ type: 'text', text: '' }] }],
    ['nothing is no content', undefined, { content: [] }],
    ['an object is its JSON', { a: [1, null] }, { content: [{ type: 'text', text: '{"a":[1,null]}' }] }],
    ['a list is its JSON', [1, 'two'], { content: [{ type: 'text', text: '[1,"two"]' }] }],
    ['a number is its JSON', 0, { content: [{ type: 'text', text: '0' }] }],
    ['null is its JSON', null, { content: [{ type: 'text', text: 'null' }] }],
    ['false is its JSON', false, { content: [{ type: 'text', text: 'false' }] }],
    ['what has a content list is a result already', RESULT, RESULT],
    ['content that is no list is a value like any', { content: 'x' }, { content: [{ text: '{"content":"x"}' }] }],
  ])('%s', async (_how, value, expected) => {
    const { app } = appOn();
    const client = await clientOf(app.tool({ name: 'plain', handler: async () => value }), era);
    const result = await client.callTool({ name: 'plain' });
    expect(result).toMatchObject(expected);
    expect(result.structuredContent).toBeUndefined();
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  test.each<[string, unknown]>([
    ['a BigInt', 7n],
    ['a circle', cyclic],
    ['a function', () => {}],
    ['a symbol', Symbol('no')],
  ])('%s, which has no JSON, is an error result that names the tool', async (_what, value) => {
    const { app } = appOn();
    const client = await clientOf(app.tool({ name: 'odd', handler: () => value }), era);
    const { isError, content } = await client.callTool({ name: 'odd' });
    expect(isError).toBe(true);
    expect(content).toMatchObject([
      { text: expect.stringMatching(/^estop: tool "odd" returned what cannot be JSON: /) },
    ]);
  });

  test('with an output schema it is data too, and is checked', async () => {
    const { app } = appOn();
    const output = z.object({ at: z.string() });
    app.tool({ name: 'now', output, handler: () => ({ at: new Date(0) }) });
    app.tool({ name: 'lies', output, handler: () => ({ at: 7 }) });
    app.tool({ name: 'silent', output, handler() {} });
    app.tool({ name: 'fails', output, handler: () => RESULT });
    const client = await clientOf(app, era);
    await client.listTools();
    expect(await client.callTool({ name: 'now' })).toMatchObject({
      content: [{ type: 'text', text: '{"at":"1970-01-01T00:00:00.000Z"}' }],
      structuredContent: { at: '1970-01-01T00:00:00.000Z' },
    });
    expect(await client.callTool({ name: 'lies' })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'silent' })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'fails' })).toMatchObject(RESULT);
  });

  test('a text with an output schema for texts is one text, and data', async () => {
    const { app } = appOn();
    app.tool({ name: 'says', output: z.string(), handler: () => 'hello' });
    const client = await clientOf(app, era);
    const { content, structuredContent } = await client.callTool({ name: 'says' });
    expect(content).toEqual([{ type: 'text', text: 'hello' }]);
    expect(JSON.stringify(structuredContent)).toContain('hello');
  });
});

describe('is refused at once, naming the tool:', () => {
  const handler = (): void => {};
  const refused = (definition: unknown, message: string | RegExp): void => {
    const app = createMcpServer({ name: 'app' });
    expect(() => app.tool(definition as never)).toThrow(message);
    // It is as if it had never been said.
    expect(app.tool({ name: 'scrape', handler })).toBe(app);
  };

  test.each([undefined, null, 'scrape'])('a tool that is no object: %j', (definition) => {
    refused(definition, 'estop: tool() takes an object, such as { name, handler }');
  });

  test.each([undefined, null, '', 7])('a tool without a name: %j', (name) => {
    refused({ name, handler }, 'estop: tool(): name must be a non-empty string, got ');
  });

  test.each(['constructor', '__proto__', 'toString'])('a name that the SDK would trip over: %s', (name) => {
    refused({ name, handler }, `estop: tool "${name}": the SDK can have no tool of this name`);
  });

  test.each([undefined, null, 'function', {}])('a handler that is no function: %j', (notOne) => {
    refused({ name: 'scrape', handler: notOne }, 'estop: tool "scrape": handler must be a function');
  });

  test.each<[unknown, string]>([
    [NaN, 'NaN'],
    [-1, '-1'],
    ['5000', '"5000"'],
    [null, 'null'],
  ])('a timeout of %j', (timeoutMs, shown) => {
    const message = `estop: tool "scrape": timeoutMs must be a number of milliseconds >= 0, got ${shown}`;
    refused({ name: 'scrape', handler, timeoutMs }, message);
  });

  test.each(['input', 'output'])('an %s that is no Standard Schema', (direction) => {
    for (const schema of [null, {}, 'url', { url: z.string() }, { '~standard': {} }]) {
      refused(
        { name: 'scrape', handler, [direction]: schema },
        `estop: tool "scrape": ${direction} must be a Standard`,
      );
    }
  });

  test.each(['input', 'output'])('an %s that clients could not be shown', (direction) => {
    const mute = { '~standard': { version: 1, vendor: 'mute', validate: (value: unknown) => ({ value }) } };
    refused({ name: 'scrape', handler, [direction]: mute }, `estop: tool "scrape": the ${direction} schema cannot`);
    const dates = z.object({ at: z.date() });
    refused(
      { name: 'scrape', handler, [direction]: dates },
      `estop: tool "scrape": the ${direction} schema has no JSON`,
    );
  });

  test('an input that is no object', () => {
    refused(
      { name: 'scrape', handler, input: z.string() },
      'estop: tool "scrape": the input schema must describe an object',
    );
  });

  test('a limit or a mutex that is none, and both at once', () => {
    refused({ name: 'scrape', handler, maxConcurrency: 0 }, /scrape.*must be an integer >= 1/);
    refused({ name: 'scrape', handler, sequential: 7 }, 'estop: tool "scrape": sequential must be');
    refused(
      { name: 'scrape', handler, sequential: true, maxConcurrency: 2 },
      'estop: tool "scrape": sequential runs one',
    );
  });

  test('a second tool of the same name; the first stays', async () => {
    const app = createMcpServer({ name: 'app' }).tool({ name: 'scrape', handler: () => 'the first' });
    expect(() => app.tool({ name: 'scrape', handler })).toThrow(
      'estop: tool "scrape": there is one with this name already',
    );
    expect(await app.callTool('scrape')).toBe('the first');
    await app.stop();
  });
});

describe('createMcpServer() refuses', () => {
  test.each<[string, unknown, string]>([
    ['no options', undefined, 'createMcpServer(): name must be a non-empty string, got undefined'],
    ['no name', {}, 'createMcpServer(): name must be a non-empty string, got undefined'],
    ['an empty name', { name: '' }, 'createMcpServer(): name must be a non-empty string, got ""'],
    ['a version that is no text', { name: 'app', version: 1 }, 'createMcpServer(): version must be'],
    [
      'NaN ms',
      { name: 'app', toolTimeoutMs: NaN },
      'createMcpServer(): toolTimeoutMs must be a number of milliseconds',
    ],
    ['a ceiling that is none', { name: 'app', maxTotalTimeoutMs: -1 }, 'createMcpServer(): maxTotalTimeoutMs must be'],
    ['no room at all', { name: 'app', maxConcurrency: 0 }, 'maxConcurrency must be an integer >= 1'],
    ['a grace that is none', { name: 'app', graceMs: 'long' }, 'graceMs must be a number of milliseconds >= 0'],
  ])('%s', (_what, options, message) => {
    expect(() => createMcpServer(options as never)).toThrow(`estop: ${message}`);
  });
});

describe('serve() refuses', () => {
  test.each(['sse', null, 7, {}])('a transport that is none: %j', async (transport) => {
    const { app } = appOn();
    const serving = app.serve({ transport: transport as object });
    await expect(serving).rejects.toThrow(TypeError);
    await expect(serving).rejects.toThrow(
      'estop: serve(): transport must be "stdio", "http" or a transport of the SDK, got ',
    );
  });
});
