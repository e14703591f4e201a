/**
 * `estop/probe`: the probe as a function, for those who want its result and not its terminal.
 */
export { CASE_TABLE, CASES, type CaseName } from './cases/table.ts';
export type { Era, Transport } from './events.ts';
export { DEFAULTS, type ProbeOptions, type Progress } from './options.ts';
export { type ProbeParts, probeServer } from './probe.ts';
export type { AttemptResult, Cell, CellVerdict, EraResult, Observation, ProbeResult, Unknown } from './result.ts';
export { ProbeFailure } from './result.ts';
