/** A door where one major of the SDK is installed, or none. */
import { expect, test } from 'vitest';
import type { Child } from '../support/child.ts';
import type { Major } from '../support/majors.ts';
import { startWithOnly } from '../support/only-sdks.ts';
import { ERAS, type Era } from '../support/peer.ts';
import { RawClient } from '../support/raw-http.ts';

const SERVER: Readonly<Record<Major, string>> = {
  v1: '@modelcontextprotocol/sdk/server/mcp.js',
  v2: '@modelcontextprotocol/server',
};

test.each([['v1', 'legacy'], ...ERAS.map((era) => ['v2', era])] as [Major, Era][])(
  'with %s alone, a %s client is served, and a server is made for its call and no other',
  async (major, era) => {
    const { child, client } = await started([major], SERVER[major], era);
    expect((await client.call(1, 'hello').answer(1)).result.content[0].text).toBe('hello');
    expect(child.stderr().match(/made for \w+/g)).toEqual([`made for ${era}`]);
  },
);

test('with none, each request is answered with 500, and what to do is said', async () => {
  const { child, client } = await started([], SERVER.v2, 'modern');
  const exchange = client.call(1, 'hello');
  await exchange.over;
  expect(exchange.status).toBe(500);
  await child.said(
    'estop: serving over HTTP needs an SDK of MCP: npm i @modelcontextprotocol/server (2.x), or npm i @modelcontextprotocol/sdk (1.25 or later)',
  );
});

async function started(majors: Major[], sdk: string, era: Era): Promise<{ child: Child; client: RawClient }> {
  const child = startWithOnly(majors, 'only-sdk-http.mjs', { SDK: sdk });
  await child.said(' \n');
  return { child, client: new RawClient(/at (\S+) /.exec(child.stderr())?.[1] as string, era) };
}
