/** Makes an engine, uses it once, and has nothing else to do: it exits by itself, or never. */
import { Engine } from '@estop/server/core';

const engine = new Engine();
const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'read' });
await call.run(() => 'value', { timeoutMs: 50_000 });
process.stdout.write(JSON.stringify({ stats: engine.stats(), resources: process.getActiveResourcesInfo() }));
