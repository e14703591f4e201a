/**
 * What all attempts of a run share: the log, the control plane, the witness, and what was asked for.
 */
import type { CaseName } from './cases/table.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Log } from './log.ts';
import type { Progress } from './options.ts';
import type { ConnectClient } from './subject/client.ts';
import type { Witness } from './witness/witness.ts';

export interface Harness {
  readonly log: Log;
  readonly control: ControlPlane;
  readonly witness: Witness;
  readonly connect: ConnectClient;
  readonly command: readonly string[];
  /** Over HTTP: where the server listens. Without it, the transport is stdio. */
  readonly url: string | undefined;
  readonly tool: string;
  /** A tool that is not the kit's: what its handler sees is not visible, and it waits at no gate of ours. */
  readonly blackBox: boolean;
  readonly args: Readonly<Record<string, unknown>>;
  readonly cases: readonly CaseName[];
  readonly repeats: number;
  readonly timeoutMs: number;
  readonly windowMs: number;
  /** Fires when the run is interrupted. */
  readonly signal: AbortSignal;
  tell(progress: Progress): void;
}
