/** A small client, and a server of one kind and wiring behind HTTP. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { KINDS, type Kind } from '../kinds.ts';
import { isWiring, WIRINGS, type Wiring } from '../wirings.ts';
import { HttpClient } from './http/client.ts';
import { Told } from './told.ts';

export interface OverHttp {
  readonly client: HttpClient;
  readonly told: Told;
  end(): void;
}

/** The side's first argument. */
export function askedWiring(): Wiring {
  const [, , wiring] = process.argv;
  if (!isWiring(wiring)) throw new Error(`no such wiring: ${wiring}`);
  return wiring;
}

export async function connectOverHttp(wiring: Wiring, kind: Kind, pin: readonly string[]): Promise<OverHttp> {
  const script = fileURLToPath(new URL('./http-server.js', import.meta.url));
  const [command = process.execPath, ...args] = [...pin, process.execPath, script, KINDS[kind], wiring];
  const server = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  const told = new Told(server.stderr);
  const port = Number(await told.next('listening'));
  return { client: await HttpClient.connect(port, WIRINGS[wiring].era), told, end: () => server.stdin.end() };
}
