/**
 * What a run is asked to do, with its defaults, and what it tells while it works.
 */
import { CASES, type CaseName } from './cases/table.ts';
import type { Era } from './events.ts';
import { fill } from './placeholders.ts';

const PORT = /\{\{\s*port\s*\}\}/;

export const DEFAULTS = {
  /** ms an attempt may take to reach its phase, and a stop may take to be observed. */
  timeoutMs: 5_000,
  /** ms that an attempt is watched after its gates were opened. */
  windowMs: 2_000,
  repeats: 3,
  out: 'estop-runs',
  tool: 'slow_marker',
  client: 'v2',
} as const;

export interface ProbeOptions {
  /** The server's command and its arguments. */
  readonly command: readonly string[];
  /**
   * Over Streamable HTTP: where the server that `command` starts will listen. Default: it is spoken to over stdio.
   *
   * In it and in the command `{{port}}` is replaced by a free port on loopback, another one for each process.
   */
  readonly url?: string;
  /** The official SDK whose client is used. Default `v2`. `v1` speaks the legacy era only, and is an optional peer. */
  readonly client?: 'v1' | 'v2';
  /** Default `auto`: every era that the client speaks and the subject offers, each in a process of its own. */
  readonly era?: 'auto' | Era;
  /**
   * The tool to call. Default: the kit's `slow_marker`. Any other name makes the subject a black box: the work has to
   * come to `{{work.url}}` or be `{{work.command}}`, and what its handler sees is not visible.
   */
  readonly tool?: string;
  /** A black box's; in every string `{{work.url}}`, `{{work.command}}` and `{{test.id}}` are replaced. */
  readonly args?: Readonly<Record<string, unknown>>;
  /** Default: all. `baseline` is always run, and `held` beside `during_work`. */
  readonly cases?: readonly CaseName[];
  readonly repeats?: number;
  readonly timeoutMs?: number;
  readonly windowMs?: number;
  /** The directory under which each run gets one of its own. */
  readonly out?: string;
  /** Ends the run early: everything is stopped, the log stays readable, and the call rejects with the reason. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** Told as the run goes; for a person's eyes, not for a verdict. */
export type Progress =
  | { readonly type: 'started'; readonly log: string }
  | { readonly type: 'era'; readonly era: Era; readonly offered: boolean }
  | {
      readonly type: 'attempt';
      readonly era: Era;
      readonly case: CaseName;
      readonly attempt: number;
      readonly state: 'running' | 'watching' | 'done' | 'invalid';
      /** Attempts done and planned in this era. */
      readonly done: number;
      readonly planned: number;
    };

/** Throws a `TypeError` that names the option, at the earliest moment. */
export function checkOptions(options: ProbeOptions): void {
  const bad = (what: string): never => {
    throw new TypeError(`estop probe: ${what}`);
  };
  if (options.command.length === 0 || !options.command[0]) bad('no command was given; write it after --');
  checkUrl(options, bad);
  if (options.client === 'v1' && options.era === 'modern') {
    bad('the client of SDK v1 speaks the legacy era only; take v2 for the modern one');
  }
  for (const name of options.cases ?? []) {
    if (!CASES.includes(name)) bad(`there is no case "${name}"; the cases are ${CASES.join(', ')}`);
  }
  const { tool = DEFAULTS.tool, args = {} } = options;
  if (tool !== DEFAULTS.tool && !/\{\{\s*work\.(url|command)\s*\}\}/.test(JSON.stringify(args))) {
    bad(
      `the work of the tool "${tool}" could not come to the witness; ` +
        'write {{work.url}} where --args names its URL, or {{work.command}} where it names its command',
    );
  }
  const count = (name: string, value: number | undefined, least: number): void => {
    if (value !== undefined && (!Number.isSafeInteger(value) || value < least || value > 2 ** 31 - 1)) {
      bad(`${name} must be a whole number >= ${least}, got ${value}`);
    }
  };
  count('repeat', options.repeats, 1);
  count('timeout (ms)', options.timeoutMs, 1);
  count('window (ms)', options.windowMs, 0);
}

/** The port has to be the probe's choice: it starts the server more than once, also at the same time. */
function checkUrl({ command, url }: ProbeOptions, bad: (what: string) => never): void {
  if (url === undefined) return;
  const shown = JSON.stringify(url);
  if (!PORT.test(url)) bad(`the URL needs {{port}} in the place of its port, got ${shown}`);
  if (!URL.canParse(fill(url, { port: '1' })) || new URL(fill(url, { port: '1' })).protocol !== 'http:') {
    bad(`the URL must be one with http:, got ${shown}`);
  }
  if (!command.some((part) => PORT.test(part))) {
    bad(
      'the server would not know its port; write {{port}} where its command names it, or env PORT={{port}} before it',
    );
  }
}
