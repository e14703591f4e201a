/**
 * `npm run bench -- [NAME]... [--json] [--quick]`: the figures, ours beside a peer's, from one run.
 *
 * stdout has the rows, stderr what is being done. Exit codes: 0 every target holds, 1 one does not, or was not
 * measured; 3 usage.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type Bench, rowsOrWhyNot } from './bench.ts';
import { callHttp } from './benches/call-http.ts';
import { callMemory } from './benches/call-memory.ts';
import { callStdio } from './benches/call-stdio.ts';
import { cancelHttp } from './benches/cancel-http.ts';
import { cancelStdio } from './benches/cancel-stdio.ts';
import { kill } from './benches/kill.ts';
import { memory } from './benches/memory.ts';
import { recorded } from './benches/recorded.ts';
import { registry } from './benches/registry.ts';
import { slots } from './benches/slots.ts';
import { soak } from './benches/soak.ts';
import type { Row } from './row.ts';
import { table } from './table.ts';

const BENCHES: readonly Bench[] = [
  callMemory,
  callStdio,
  cancelStdio,
  callHttp,
  cancelHttp,
  registry,
  recorded,
  memory,
  slots,
  soak,
  kill,
];

interface Asked {
  readonly benches: readonly Bench[];
  readonly json: boolean;
  readonly quick: boolean;
}

const asked = whatIsAsked();
if (asked === undefined) process.exitCode = 3;
else {
  const rows: Row[] = [];
  for (const bench of asked.benches) {
    process.stderr.write(`${bench.name} ...\n`);
    rows.push(...(await rowsOrWhyNot(bench.name, () => bench.run(asked.quick))));
  }
  process.stdout.write(asked.json ? `${JSON.stringify(rows, null, 2)}\n` : `${table(rows)}\n\n${whereAndWhen()}\n`);
  process.exitCode = rows.every(({ holds }) => holds === true || holds === null) ? 0 : 1;
}

/** @returns `undefined` when it cannot be understood, and has been said so */
function whatIsAsked(): Asked | undefined {
  try {
    const { values, positionals } = parseArgs({
      options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const unknown = positionals.filter((name) => !BENCHES.some((bench) => bench.name === name));
    if (unknown.length > 0) throw new Error(`no bench is named ${unknown.join(', ')}`);
    const benches = positionals.length === 0 ? BENCHES : BENCHES.filter(({ name }) => positionals.includes(name));
    return { benches, json: values.json, quick: values.quick };
  } catch (error) {
    const names = BENCHES.map(({ name }) => name).join(', ');
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(`bench: ${why}\nusage: npm run bench -- [NAME]... [--json] [--quick]\nNAME: ${names}\n`);
    return undefined;
  }
}

/** Figures mean little without it. */
function whereAndWhen(): string {
  const [cpu] = cpus();
  const machine = `${availableParallelism()} x ${cpu?.model.trim() || process.arch}, load ${loadavg()[0]?.toFixed(1)}`;
  return `${new Date().toISOString().slice(0, 10)}, node ${process.version}, ${machine}`;
}
