/** How a subject is started: `node SUBJECT.js bare|protected [PORT] [sse|json]`. */
import { createEstop, type Estop } from '@estop/server';

const [mode, portAsked, answers] = process.argv.slice(2);

/**
 * Only where it is asked for: a bare subject has nothing of ours around it. The grace after a hang-up is short, so that
 * its end is seen.
 */
export const estop: Estop | undefined =
  mode === 'protected' ? createEstop({ http: { disconnectGraceMs: 200 } }) : undefined;
export const port = Number(portAsked);
export const answersInJson = answers === 'json';
