/**
 * `estop/report`: a run's result as text, for those who call the probe as a function.
 */
export { EXIT, type ExitCode, exitCode } from './exit-code.ts';
export { jsonReport } from './json.ts';
export { type Column, type Paint, type TableCell, type TableOptions, type TableRow, tableRows } from './table.ts';
export { type TerminalOptions, terminalReport } from './terminal.ts';
