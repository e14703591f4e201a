/**
 * What a run tells a person while it works, on stderr.
 *
 * On a terminal one live line, drawn at most every 100 ms and gone at the end; elsewhere one plain line for each event
 * that matters. Holds no process open. Says nothing of a verdict: those are made when the run is over.
 */
import type { Colors } from 'picocolors/types.js';
import type { Progress } from '../probe/options.ts';

export interface ProgressView {
  readonly update: (progress: Progress) => void;
  /** A line that stays, above the live one. */
  readonly say: (line: string) => void;
  readonly end: () => void;
}

const DRAW_EVERY_MS = 100;
const BAR = 20;
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const CLEAR_LINE = '\r\x1b[2K';

type Attempt = Extract<Progress, { type: 'attempt' }>;

export function liveLine(stream: NodeJS.WriteStream, colors: Colors): ProgressView {
  const began = performance.now();
  let now = 'starting the server';
  let frame = 0;
  // Eras run beside each other, and each counts its own attempts.
  const eras = new Map<string, Attempt>();
  const draw = (): void => {
    frame += 1;
    const seconds = Math.floor((performance.now() - began) / 1000);
    const text = `${SPINNER[frame % SPINNER.length]} ${now}  ${seconds} s`;
    const [sign = '', ...rest] = [...text].slice(0, (stream.columns || 80) - 1);
    stream.write(`${CLEAR_LINE}${colors.cyan(sign)}${rest.join('')}`);
  };
  const timer = setInterval(draw, DRAW_EVERY_MS).unref();
  return {
    update: (progress) => {
      if (progress.type === 'era') now = eraWords(progress);
      if (progress.type === 'attempt') {
        eras.set(progress.era, progress);
        now = `${bar([...eras.values()])}  ${attemptWords(progress)}`;
      }
    },
    say: (line) => stream.write(`${CLEAR_LINE}${line}\n`),
    end: () => {
      clearInterval(timer);
      stream.write(CLEAR_LINE);
    },
  };
}

export function plainLines(stream: NodeJS.WriteStream): ProgressView {
  const say = (line: string): void => {
    stream.write(`${line}\n`);
  };
  return {
    update: (progress) => {
      if (progress.type === 'started') say(`estop probe: the log is ${progress.log}`);
      else if (progress.type === 'era') say(`estop probe: ${eraWords(progress)}`);
      else if (progress.state === 'done' || progress.state === 'invalid') {
        say(`estop probe: ${progress.done}/${progress.planned} ${attemptWords(progress)}`);
      }
    },
    say,
    end: () => {},
  };
}

/** For `--json` without a terminal: only what must be said. */
export function onlyWhatMustBeSaid(stream: NodeJS.WriteStream): ProgressView {
  return { ...plainLines(stream), update: () => {} };
}

function eraWords({ era, offered }: Extract<Progress, { type: 'era' }>): string {
  return offered ? `${era}: offered by the server` : `${era}: not offered by the server`;
}

function attemptWords({ era, case: name, attempt, state }: Attempt): string {
  return `${era}: ${name} #${attempt} ${state === 'invalid' ? 'did not reach its phase' : state}`;
}

function bar(eras: readonly Attempt[]): string {
  const done = eras.reduce((sum, era) => sum + era.done, 0);
  const planned = eras.reduce((sum, era) => sum + era.planned, 0);
  const full = planned === 0 ? 0 : Math.min(BAR, Math.round((done / planned) * BAR));
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${done}/${planned}`;
}
