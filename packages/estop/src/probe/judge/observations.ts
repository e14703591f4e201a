/**
 * The table of observations: what each one shows, what it leaves open, and where to look next.
 *
 * Promises the same sentences to every report, in plain words. Gives no cause: an observation says what was seen and
 * what was not, and `lookNext` is a place to look at, not a finding.
 */
import { GRADES, type Grade, type Observation, type ObservationName, type Place } from '../result.ts';

export const OBSERVATIONS: Readonly<Record<ObservationName, Observation>> = {
  'stop-confirmed': {
    name: 'stop-confirmed',
    grade: 'as expected',
    shows: 'The witness saw the work stop, its state reads stopped, the server still answers, and there was no marker.',
    leavesOpen: 'What happens after the window, such as a second try from a queue.',
    lookNext: 'A longer window, where work is queued or tried again.',
    lastSeen: 'worker',
  },
  'committed-after-signal': {
    name: 'committed-after-signal',
    grade: 'leaked',
    shows: 'The handler had the signal while the gate was shut, and the work committed all the same.',
    leavesOpen: 'Whether the signal was not passed on, or met a step that cannot stop.',
    lookNext: 'What the handler does with its signal, and whether that step can be stopped at all.',
    lastSeen: 'handler',
    firstNotSeen: 'worker',
  },
  'committed-in-race': {
    name: 'committed-in-race',
    grade: 'leaked',
    shows: 'No signal had been seen in the handler when the gates were opened, and the work committed.',
    leavesOpen: 'Whether the stop would have come later.',
    lookNext: 'The effect first: it is there. Then the observation beside this one.',
  },
  'not-on-wire': {
    name: 'not-on-wire',
    grade: 'unknown',
    shows:
      'The call was pending, and no notifications/cancelled with its request id, value and type, was captured in time.',
    leavesOpen: 'Whether the abort came to the client, and whether a signal took a way that is not captured.',
    lookNext: 'How the client cancels this kind of request, which id it names, and what the capture covers.',
    lastSeen: 'caller',
    firstNotSeen: 'wire',
  },
  'lost-in-runtime': {
    name: 'lost-in-runtime',
    grade: 'unknown',
    shows: 'The cancel was captured on its way to the server, and no handler had reported a signal in time.',
    leavesOpen: 'Whether the server found no call with that id, or the listener in the handler stayed silent.',
    lookNext: 'Where the server keeps its calls in flight, and how a signal comes to a handler.',
    lastSeen: 'wire',
    firstNotSeen: 'handler',
  },
  'server-died': {
    name: 'server-died',
    grade: 'unknown',
    shows: 'After the attempt the server was gone, was another process, or did not answer.',
    leavesOpen: 'Whether the work was stopped, or only lost its server.',
    lookNext: "The server's stderr and its exit in the log.",
  },
  'witness-disagrees': {
    name: 'witness-disagrees',
    grade: 'unknown',
    shows: 'The marker and what the witness tells of its jobs do not fit together.',
    leavesOpen: 'Whether the effect happened.',
    lookNext: "The marker itself, and the witness's lines of this test id in the log.",
  },
  'state-unreadable': {
    name: 'state-unreadable',
    grade: 'unknown',
    shows: 'A state that the verdict needs could not be read.',
    leavesOpen: 'What stood there. The effect may have happened or not.',
    lookNext: 'The reason in the log; then run the case again.',
  },
  'answered-after-cancel': {
    name: 'answered-after-cancel',
    grade: 'noisy',
    shows: 'A response or a progress notification of the cancelled call crossed the wire after the cancel.',
    leavesOpen: 'What the client does with it. It says nothing of the effect.',
    lookNext: 'Whether the server still answers what was cancelled, and whether the client lets that through.',
  },
  'signalled-after-settle': {
    name: 'signalled-after-settle',
    grade: 'noisy',
    shows: 'A cancel crossed the wire for a call that had settled.',
    leavesOpen: 'What the server makes of it. It says nothing of pending calls.',
    lookNext: "Whether the client lets go of the caller's abort signal when a call has settled.",
  },
  'control-failed': {
    name: 'control-failed',
    grade: 'unknown',
    shows: 'Without this cancel, things did not stay as the case needs them.',
    leavesOpen: 'Whether a stop that was seen came from the cancel.',
    lookNext: 'What else ends work here: time limits of the handler, of its own client, of the server.',
  },
  'not-visible': {
    name: 'not-visible',
    grade: 'unknown',
    shows: 'The server is a black box: what its handler saw is not visible.',
    leavesOpen: 'Whether the cancel reached the handler.',
    lookNext: "The same with the kit's tool in that server: its handler tells what it saw.",
    lastSeen: 'wire',
  },
};

/** What `not-on-wire` shows where the cancel is a close: modern HTTP. */
export const STREAM_NOT_CLOSED =
  'The call was pending, and the client was not seen in time to close the response stream of its request.';

/** What may be said more exactly of one attempt than in the table. */
export type Particulars = Partial<Pick<Observation, 'shows' | 'leavesOpen' | 'lastSeen' | 'firstNotSeen'>>;

export function observe(name: ObservationName, particulars: Particulars = {}): Observation {
  return { ...OBSERVATIONS[name], ...particulars };
}

/** For sorting: the worst first. */
export function byGrade(a: { readonly grade: Grade }, b: { readonly grade: Grade }): number {
  return GRADES.indexOf(a.grade) - GRADES.indexOf(b.grade);
}

/** The worst of them; nothing observed is as expected. */
export function worstGrade(grades: readonly Grade[]): Grade {
  return GRADES.find((grade) => grades.includes(grade)) ?? 'as expected';
}

/** Where the stop was last seen, for people; empty where there is nothing to say. */
export function inWords(lastSeen: Place | undefined, firstNotSeen: Place | undefined): string {
  switch (lastSeen) {
    case 'caller':
      return 'left the caller, not seen on the wire';
    case 'wire':
      return firstNotSeen === undefined
        ? 'reached the server; what its handler saw is not visible'
        : 'reached the server, not the handler';
    case 'handler':
      return 'reached the handler, not the work';
    case 'worker':
      return 'reached the work';
    case undefined:
      return '';
  }
}
