/**
 * What the harness and its witness say to each other, over the IPC channel of `child_process.fork`.
 *
 * The witness alone decides what became of a job (`waiting -> granted | stopped`); the harness asks and listens.
 * Either side's silence is a fact for the verdict, never an exception.
 */
import type { JobState, WorkerEvent } from '../events.ts';

export type ToWitness =
  /** Makes `testId` known, before any work can come for it. `hold`: the answer waits for `release` after the commit. */
  | { readonly type: 'arm'; readonly testId: string; readonly marker: string; readonly hold: boolean }
  /** Opens `allow_commit`, for the jobs that wait and for all that start later. */
  | { readonly type: 'grant'; readonly testId: string }
  /** Lets held answers go, and all later ones. */
  | { readonly type: 'release'; readonly testId: string }
  | { readonly type: 'query'; readonly request: number; readonly testId: string };

export type FromWitness =
  /** `url` + testId is where work comes to; a command's, with `/command/<its pid>` behind. It carries an unguessable token. */
  | { readonly type: 'ready'; readonly url: string }
  | ({
      readonly type: 'event';
      readonly testId: string;
      /** `process.hrtime.bigint()` in the witness, ns, decimal. */
      readonly at: string;
    } & WorkerEvent)
  | {
      readonly type: 'state';
      readonly request: number;
      readonly testId: string;
      readonly jobs: readonly { readonly job: number; readonly state: JobState }[];
    };
