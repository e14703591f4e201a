/**
 * A result as JSON: what `--json` writes.
 *
 * Promises the same text for the same result: 2 spaces, keys in the order of the result's own shape, a newline at the
 * end. The shape's version is `schema`; the exit code is not part of it.
 */
import type { ProbeResult } from '../probe/result.ts';

export function jsonReport(result: ProbeResult): string {
  return `${JSON.stringify(result, null, 2)}\n`;
}
