import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AttemptEvent, AttemptLine, Source } from '../src/probe/events.ts';
import { baselineProblem, isInvalid, judge } from '../src/probe/judge/judge.ts';
import { byGrade, inWords, OBSERVATIONS, worstGrade } from '../src/probe/judge/observations.ts';
import { GRADES } from '../src/probe/result.ts';
import { Attempt, attempt, blackBoxAttempt, names } from './attempt-lines.ts';

const stoppedDuringWork = () => attempt('during_work').cancelled().delivered().stopped().acted().allOpened().settled();

const notStarted = () => attempt('before_work').cancelled().delivered().acted().allOpened().settled();

const committedThenQuiet = () =>
  attempt('after_commit').cancelled().delivered().opened('release_response').acted().settled();

describe('during_work', () => {
  test('a stop that the witness saw, its state confirms and no marker contradicts is as expected', () => {
    const result = stoppedDuringWork()
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result).toMatchObject({ grade: 'as expected', outcome: 'stopped', handlerEnd: 'acted' });
    expect(names(result)).toEqual(['stop-confirmed']);
  });

  test('the time to the stop is from the abort to what the witness saw, with one decimal', () => {
    const lines = attempt('during_work').aborted().after(11.3).stopped().lines;

    expect(judge(lines, { blackBox: false }).stopMs).toBe(12.3);
    expect(attempt('during_work').cancelled().judged()).not.toHaveProperty('stopMs');
  });

  test('tells for how long the work was held: to its stop, or until its gate was opened', () => {
    // Two lines after the start: the phase, and what is added here.
    const started = () => attempt('held').after(98);

    expect(started().stopped().judged().heldMs).toBe(100);
    expect(started().opened('allow_commit').judged().heldMs).toBe(100);
    expect(attempt('before_work').judged()).not.toHaveProperty('heldMs');
  });

  test('does not count what the end of the subject closed, and counts work that comes later', () => {
    const ended = stoppedDuringWork()
      .watched({ marker: false, state: ['stopped'] })
      .add('harness', { event: 'attempt_ended' });
    const { lines, grade, handlerEnd } = { ...ended.judged(), lines: ended.lines };

    expect(grade).toBe('as expected');
    expect(judge(ended.gone('b').lines, { blackBox: false })).toMatchObject({ grade, handlerEnd });
    expect(judge(ended.started(2).lines, { blackBox: false }).grade).toBe('unknown');
    expect(judge(ended.committed(2).lines, { blackBox: false }).grade).toBe('leaked');
    expect(lines.length).toBeLessThan(ended.lines.length);
  });

  test('a commit after the handler had the signal leaked between the handler and the work', () => {
    const result = attempt('during_work')
      .cancelled()
      .delivered()
      .notObserved()
      .allOpened()
      .committed()
      .exited('returned')
      .watched({ marker: true, state: ['committed'] })
      .judged();

    expect(result).toMatchObject({ grade: 'leaked', outcome: 'committed-after-signal', handlerEnd: 'ran on' });
    expect(result.observations[0]).toMatchObject({ lastSeen: 'handler', firstNotSeen: 'worker' });
    expect(names(result)).toEqual(['committed-after-signal']);
  });

  test('a signal that came after the gates were opened was not in time', () => {
    const result = attempt('during_work')
      .cancelled()
      .notObserved()
      .allOpened()
      .delivered()
      .committed()
      .watched({ marker: true, state: ['committed'] })
      .judged();

    expect(names(result)).toEqual(['committed-in-race', 'lost-in-runtime']);
    expect(result.observations[0]).toMatchObject({ lastSeen: 'wire', firstNotSeen: 'handler' });
  });

  test('without a cancel on the wire, a commit in the race leaked between the caller and the wire', () => {
    const result = attempt('during_work')
      .aborted()
      .notObserved()
      .allOpened()
      .committed()
      .watched({ marker: true, state: ['committed'] })
      .judged();

    expect(result.grade).toBe('leaked');
    expect(names(result)).toEqual(['committed-in-race', 'not-on-wire']);
    expect(result.observations[0]).toMatchObject({ lastSeen: 'caller', firstNotSeen: 'wire' });
  });

  test.each(['3', 4, null, undefined])('a cancel that names %j is not the cancel of call 3', (id) => {
    const lines = attempt('during_work')
      .aborted()
      .frame({ direction: 'to-server', kind: 'notification', method: 'notifications/cancelled', cancels: id })
      .stopped()
      .allOpened()
      .watched({ marker: false, state: ['stopped'] });

    expect(lines.judged()).toMatchObject({ grade: 'unknown', outcome: 'not-on-wire' });
  });

  test('ids 0 and the empty string are ids', () => {
    for (const id of [0, '']) {
      const lines = new Attempt('during_work').sent(id).handlerStarted().opened('before_work').started();
      const result = lines
        .phase('during_work')
        .cancelled(id)
        .stopped()
        .allOpened()
        .watched({ marker: false, state: ['stopped'] })
        .judged();
      expect(result.grade).toBe('as expected');
    }
  });

  test('a cancel that crossed before the abort is not the one that was asked for', () => {
    const lines = attempt('during_work').cancelOnWire().aborted().stopped().allOpened();

    expect(lines.watched({ marker: false, state: ['stopped'] }).judged().outcome).toBe('not-on-wire');
  });

  test('a cancel that crosses only when the gates are open came too late to explain the stop', () => {
    const result = attempt('during_work')
      .aborted()
      .stopped()
      .allOpened()
      .cancelOnWire()
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'not-on-wire' });
  });

  test('a process that is killed without a word from its handler is a stop all the same', () => {
    const result = attempt('during_work')
      .cancelled()
      .stopped()
      .gone()
      .allOpened()
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result).toMatchObject({ grade: 'as expected', outcome: 'stopped', handlerEnd: 'ended-by-runtime' });
  });

  test('work that stopped before the abort was not stopped by it', () => {
    const result = attempt('during_work')
      .stopped()
      .cancelled()
      .delivered()
      .allOpened()
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'control-failed' });
  });

  test('a stop that was told after the abort and is older than it was not made by it', () => {
    const lines = stoppedDuringWork().watched({ marker: false, state: ['stopped'] }).lines;
    const older = lines.map((line) => (line.event === 'worker_stopped' ? { ...line, at: '1' } : line));

    expect(judge(older, { blackBox: false })).toMatchObject({ grade: 'unknown', outcome: 'control-failed' });
  });

  test('a stop that came when the wait had run out is not confirmed: the control was not held that long', () => {
    const result = attempt('during_work')
      .cancelled()
      .delivered()
      .notObserved()
      .opened('before_work')
      .stopped()
      .opened('allow_commit', 'release_response')
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'control-failed' });
  });

  test('a call that had its answer before the abort is no pending call', () => {
    const result = attempt('during_work')
      .response()
      .cancelled()
      .stopped()
      .allOpened()
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(names(result)).toEqual(['control-failed']);
  });

  test('work that was seen neither to stop nor to commit is unknown', () => {
    const result = attempt('during_work')
      .cancelled()
      .delivered()
      .allOpened()
      .granted()
      .watched({ marker: false, state: ['granted'] })
      .judged();

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'state-unreadable' });
    expect(result.observations[0]?.shows).toBe('Job 1 was seen neither to stop nor to commit.');
  });

  test('a late start revokes, even when the marker and the state were read before', () => {
    const confirmed = stoppedDuringWork().watched({ marker: false, state: ['stopped'] });
    expect(confirmed.judged().grade).toBe('as expected');

    expect(confirmed.started(2).judged().grade).toBe('unknown');
    expect(confirmed.committed(2).judged()).toMatchObject({ grade: 'leaked', outcome: 'committed-after-signal' });
  });

  test('an answer to the cancelled call is noisy, and the stop stays confirmed', () => {
    const result = stoppedDuringWork()
      .response()
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result).toMatchObject({ grade: 'noisy', outcome: 'answered-after-cancel' });
    expect(names(result)).toEqual(['answered-after-cancel', 'stop-confirmed']);
  });

  test('an answer to a second request that nobody cancelled is no answer after the cancel', () => {
    const result = stoppedDuringWork()
      .request(4)
      .progress(4)
      .response(4)
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result.grade).toBe('as expected');
  });

  test('progress that was on its way when the cancel crossed is not held against the server', () => {
    const early = attempt('during_work').cancelled().progress().delivered().stopped().allOpened();
    const late = attempt('during_work').cancelled().delivered().progress().stopped().allOpened();

    expect(early.watched({ marker: false, state: ['stopped'] }).judged().grade).toBe('as expected');
    expect(late.watched({ marker: false, state: ['stopped'] }).judged().outcome).toBe('answered-after-cancel');
  });

  test('without a signal in the handler, progress counts from the first gate', () => {
    const upTo = () => attempt('during_work').cancelled().progress().stopped().allOpened();

    expect(
      upTo()
        .watched({ marker: false, state: ['stopped'] })
        .judged().grade,
    ).toBe('as expected');
    expect(
      upTo()
        .progress()
        .watched({ marker: false, state: ['stopped'] })
        .judged().grade,
    ).toBe('noisy');
  });
});

describe('before_work', () => {
  test('a handler that ends at its gate, with no work ever, is as expected', () => {
    expect(notStarted().watched({ marker: false }).judged()).toMatchObject({
      grade: 'as expected',
      outcome: 'not-started',
      observations: [],
      handlerEnd: 'acted',
    });
  });

  test('work that started after the abort and was stopped is a stop', () => {
    const result = attempt('before_work')
      .cancelled()
      .delivered()
      .started()
      .stopped()
      .acted()
      .allOpened()
      .watched({ marker: false, state: ['stopped'] })
      .judged();

    expect(result).toMatchObject({ grade: 'as expected', outcome: 'stopped' });
    expect(names(result)).toEqual(['stop-confirmed']);
  });

  test('work that started before the abort means that this was not before the work', () => {
    const lines = attempt('before_work').started().cancelled().delivered().stopped().acted().allOpened();

    expect(lines.watched({ marker: false, state: ['stopped'] }).judged().outcome).toBe('control-failed');
  });

  test('a cancel that no handler showed is lost in the runtime, even when no work came', () => {
    const result = attempt('before_work').cancelled().notObserved().allOpened().watched({ marker: false }).judged();

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'lost-in-runtime' });
  });

  test('a handler that was ended without a signal is not lost in the runtime', () => {
    const result = attempt('before_work').cancelled().gone().allOpened().watched({ marker: false }).judged();

    expect(result).toMatchObject({ grade: 'as expected', handlerEnd: 'ended-by-runtime' });
  });

  test('a commit after the cancel leaked', () => {
    const result = attempt('before_work')
      .cancelled()
      .notObserved()
      .allOpened()
      .started()
      .committed()
      .watched({ marker: true, state: ['committed'] })
      .judged();

    expect(names(result)).toEqual(['committed-in-race', 'lost-in-runtime']);
  });

  test('a handler that had ended before the abort was not ended by it', () => {
    const lines = attempt('before_work').exited('threw').cancelled().allOpened();

    expect(lines.watched({ marker: false }).judged().outcome).toBe('control-failed');
  });
});

describe('after_commit', () => {
  test('the effect stands and the wire is quiet', () => {
    const result = committedThenQuiet()
      .watched({ marker: true, state: ['committed'] })
      .judged();

    expect(result).toMatchObject({ grade: 'as expected', outcome: 'committed-then-quiet', observations: [] });
  });

  test('an answer that crosses after the cancel is noisy', () => {
    const result = committedThenQuiet()
      .response()
      .watched({ marker: true, state: ['committed'] })
      .judged();

    expect(result).toMatchObject({ grade: 'noisy', outcome: 'answered-after-cancel' });
  });

  test('a signal that did not come in time is unknown', () => {
    const lines = attempt('after_commit').cancelled().notObserved().opened('release_response').delivered();

    expect(lines.watched({ marker: true, state: ['committed'] }).judged().outcome).toBe('lost-in-runtime');
  });

  test('a handler that has its result, and no marker, do not fit together', () => {
    const lines = new Attempt('after_commit').sent().handlerStarted().gotResult().phase('after_commit');
    const result = lines.cancelled().delivered().opened('release_response').watched({ marker: false }).judged();

    expect(result.outcome).toBe('witness-disagrees');
  });

  test('work that starts after the cancel and commits leaked; the effect before it does not excuse it', () => {
    const result = committedThenQuiet()
      .watched({ marker: true, state: ['committed'] })
      .started(2)
      .committed(2)
      .judged();

    expect(result).toMatchObject({ grade: 'leaked', outcome: 'committed-after-signal' });
  });
});

describe('after_settle', () => {
  test('a quiet wire is as expected', () => {
    const lines = attempt('after_settle')
      .aborted()
      .watched({ marker: true, state: ['committed'] });

    expect(lines.judged()).toMatchObject({ grade: 'as expected', outcome: 'quiet', observations: [] });
  });

  test.each([3, '3'])('a cancel of the settled call is noisy, whatever the type of its id: %j', (id) => {
    const lines = attempt('after_settle')
      .cancelled(id)
      .watched({ marker: true, state: ['committed'] });

    expect(lines.judged()).toMatchObject({ grade: 'noisy', outcome: 'signalled-after-settle' });
  });

  test('a signal that only the handler saw is not judged', () => {
    const lines = attempt('after_settle')
      .aborted()
      .delivered()
      .watched({ marker: true, state: ['committed'] });

    expect(lines.judged().grade).toBe('as expected');
  });

  test('a resolved call without its marker is unknown', () => {
    const lines = attempt('after_settle')
      .aborted()
      .watched({ marker: false, state: ['committed'] });

    expect(lines.judged()).toMatchObject({ grade: 'unknown', outcome: 'witness-disagrees' });
  });
});

describe('held', () => {
  const held = () => attempt('held').after(5_000).opened('allow_commit');

  test('work that nobody cancels survives its gate, commits, and its call resolves', () => {
    const lines = held().committed().opened('release_response').settled('resolved');

    expect(lines.watched({ marker: true, state: ['committed'] }).judged()).toMatchObject({
      grade: 'as expected',
      outcome: 'survived',
    });
  });

  test('work that stops at its gate without a cancel fails the control, also when a second try commits', () => {
    const lines = attempt('held').stopped().started(2).opened('allow_commit').committed(2).settled('resolved');

    expect(lines.watched({ marker: true, state: ['stopped', 'committed'] }).judged()).toMatchObject({
      grade: 'unknown',
      outcome: 'control-failed',
    });
  });

  test('a call that did not resolve fails the control', () => {
    const lines = held().committed().settled('rejected', 'timed out');

    expect(lines.watched({ marker: true, state: ['committed'] }).judged().outcome).toBe('control-failed');
  });
});

describe('baseline', () => {
  const called = () => attempt('baseline').allOpened();

  test('a resolved call with its marker has no problem', () => {
    const lines = called()
      .started()
      .committed()
      .settled('resolved')
      .watched({ marker: true, state: ['committed'] });

    expect(baselineProblem(lines.lines)).toBeUndefined();
    expect(lines.judged()).toMatchObject({ grade: 'as expected', outcome: 'completed' });
  });

  test('its problem is one clear sentence', () => {
    expect(baselineProblem(called().lines)).toBe('the call did not settle while it was waited for');
    expect(baselineProblem(called().settled('rejected', 'Unknown tool').lines)).toBe(
      'the call did not resolve: Unknown tool',
    );
    expect(baselineProblem(called().settled('resolved').watched({ marker: false }).lines)).toBe(
      'the call resolved, and no marker appeared: the work did not come to the witness',
    );
    expect(baselineProblem(called().started().settled('resolved').marker(false).lines)).toBe(
      'the call resolved, and no marker appeared: the work came to the witness and did not commit',
    );
  });

  test('a baseline without a marker names a witness that could not be asked', () => {
    const silent = { event: 'worker_state_unreadable', reason: 'the witness is not running' } as const;

    expect(baselineProblem(called().settled('rejected', 'no').marker(false).add('harness', silent).lines)).toBe(
      'the witness could not be asked for its work: the witness is not running',
    );
    expect(baselineProblem(called().settled('resolved').marker(true).add('harness', silent).lines)).toBeUndefined();
  });

  test('a baseline with a problem is never as expected', () => {
    const result = called().settled('resolved').watched({ marker: false }).judged();

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'control-failed' });
  });
});

describe('a black box', () => {
  test('a confirmed stop needs no word from the handler', () => {
    const lines = blackBoxAttempt('during_work').cancelled().stopped().opened('allow_commit').settled();

    expect(lines.watched({ marker: false, state: ['stopped'] }).judged({ blackBox: true })).toMatchObject({
      grade: 'as expected',
      outcome: 'stopped',
      handlerEnd: 'unknown',
    });
  });

  test('a commit leaked, and where the stop was lost behind the server is not visible', () => {
    const lines = blackBoxAttempt('during_work').cancelled().notObserved().opened('allow_commit').committed();
    const result = lines.watched({ marker: true, state: ['committed'] }).judged({ blackBox: true });

    expect(names(result)).toEqual(['committed-in-race', 'not-visible']);
    expect(result.observations[0]).toMatchObject({ grade: 'leaked', lastSeen: 'wire' });
    expect(result.observations[0]).not.toHaveProperty('firstNotSeen');
  });

  test('after a commit a quiet wire is as expected, though delivery is not visible', () => {
    const lines = blackBoxAttempt('after_commit').cancelled().opened('release_response').settled();

    expect(lines.watched({ marker: true, state: ['committed'] }).judged({ blackBox: true })).toMatchObject({
      grade: 'as expected',
      outcome: 'committed-then-quiet',
    });
  });

  test('a cancel that never crossed is seen as such', () => {
    const lines = blackBoxAttempt('after_commit').aborted().opened('release_response').settled();

    expect(lines.watched({ marker: true, state: ['committed'] }).judged({ blackBox: true }).outcome).toBe(
      'not-on-wire',
    );
  });
});

describe('a command', () => {
  const command = (unchecked?: string) => new Attempt('during_work').sent().command(1, unchecked).phase('during_work');
  const black = { blackBox: true };

  test('has stopped when its connection and its process were seen to end', () => {
    const lines = command().cancelled().disconnected().stopped().allOpened().settled();
    const result = lines.watched({ marker: false, state: ['stopped'] }).judged(black);

    expect(result).toMatchObject({ grade: 'as expected', outcome: 'stopped' });
    expect(result.stopMs).toBeDefined();
  });

  test('whose connection alone has ended leaves its end unknown, and names its process', () => {
    const lines = command().cancelled().disconnected().notObserved().allOpened().settled();
    const result = lines.watched({ marker: false, state: ['waiting'] }).judged(black);

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'state-unreadable' });
    expect(result.observations[0]?.shows).toBe(
      'The connection of job 1 ended, and its process 71 was not seen to end.',
    );
    expect(result).not.toHaveProperty('stopMs');
  });

  test('whose process could not be checked says why', () => {
    const lines = command('no such pid here').cancelled().disconnected().notObserved().allOpened().settled();

    expect(lines.watched({ marker: false, state: ['waiting'] }).judged(black).observations[0]?.shows).toBe(
      'The connection of job 1 ended, and whether its process did cannot be checked (no such pid here).',
    );
  });

  test('that was gone only after its gate was opened has not stopped in time', () => {
    const lines = command().cancelled().disconnected().notObserved().allOpened().stopped().settled();
    const result = lines.watched({ marker: false, state: ['stopped'] }).judged(black);

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'control-failed' });
    expect(names(result)).not.toContain('stop-confirmed');
  });

  test('that lost its connection before the cancel may have ended before it, whenever that was seen', () => {
    const lines = command().disconnected().cancelled().stopped().allOpened().settled();
    const result = lines.watched({ marker: false, state: ['stopped'] }).judged(black);

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'control-failed' });
    expect(result.observations[0]?.shows).toBe('The connection of a command ended before the call was cancelled.');
  });

  test('that is started again after its stop, and commits, leaks', () => {
    const lines = command().cancelled().disconnected().stopped().allOpened().command(2).committed(2).settled();

    expect(lines.watched({ marker: true, state: ['stopped', 'committed'] }).judged(black).grade).toBe('leaked');
  });
});

describe('how the handler ended', () => {
  test('of several invocations the worst is told', () => {
    const lines = attempt('during_work').handlerStarted('b').acted('a').exited('returned', 'b');

    expect(lines.judged().handlerEnd).toBe('ran on');
  });

  test('a handler that goes with its process at the end of the run was not ended by the runtime', () => {
    expect(attempt('during_work').gone().windowEnded().judged().handlerEnd).toBe('ended-by-runtime');
    expect(attempt('during_work').windowEnded().gone().judged().handlerEnd).toBe('unknown');
  });
});

describe('what cannot be read', () => {
  test('is named, and is unknown', () => {
    const result = stoppedDuringWork()
      .windowEnded()
      .add('harness', { event: 'marker_unreadable', reason: 'EACCES' })
      .add('harness', { event: 'worker_state_unreadable', reason: 'the witness is not running' })
      .server()
      .judged();

    expect(result).toMatchObject({ grade: 'unknown', outcome: 'state-unreadable' });
    expect(result.observations[0]?.shows).toBe(
      "The marker could not be read (EACCES); the worker's state could not be read (the witness is not running).",
    );
  });

  test('and what was never read is no better', () => {
    expect(stoppedDuringWork().judged().outcome).toBe('state-unreadable');
    expect(stoppedDuringWork().windowEnded().marker(false).state('stopped').judged().outcome).toBe('state-unreadable');
  });

  test.each(['alive', 'samePid', 'answers'])('a server that is not %s died, and no stop is claimed', (what) => {
    const lines = stoppedDuringWork()
      .windowEnded()
      .marker(false)
      .state('stopped')
      .server({ [what]: false });

    expect(names(lines.judged())).toEqual(['server-died']);
  });

  test('a stop whose state reads otherwise is a disagreement', () => {
    for (const state of ['waiting', 'granted', 'committed'] as const) {
      const result = stoppedDuringWork()
        .watched({ marker: false, state: [state] })
        .judged();
      expect(names(result)).toContain('witness-disagrees');
    }
    expect(names(stoppedDuringWork().watched({ marker: false, state: [] }).judged())).toContain('witness-disagrees');
  });

  test('a marker that the witness does not know of leaked, and is a disagreement', () => {
    const result = stoppedDuringWork()
      .watched({ marker: true, state: ['stopped'] })
      .judged();

    expect(names(result)).toEqual(['committed-after-signal', 'witness-disagrees']);
  });

  test('one job that stopped and went on is a disagreement: a stop after the grant is a race', () => {
    const lines = attempt('during_work').cancelled().delivered().stopped().allOpened().granted();

    expect(names(lines.watched({ marker: false, state: ['stopped'] }).judged())).toContain('witness-disagrees');
  });
});

describe('an attempt whose phase was not reached', () => {
  const unreached = new Attempt('during_work')
    .sent()
    .add('harness', { event: 'invalid_phase', missing: 'worker_started', withinMs: 5_000 });

  test('is invalid, and has no result', () => {
    expect(isInvalid(unreached.lines)).toBe(true);
    expect(isInvalid(new Attempt('during_work').sent().lines)).toBe(true);
    expect(isInvalid(attempt('during_work').lines)).toBe(false);
    expect(() => unreached.judged()).toThrow('did not reach its phase');
  });

  test('a baseline has no phase to reach', () => {
    expect(isInvalid(new Attempt('baseline').sent().lines)).toBe(false);
  });
});

describe('the table', () => {
  test('each observation says what it shows, what it leaves open and where to look next', () => {
    for (const [name, { name: own, shows, leavesOpen, lookNext }] of Object.entries(OBSERVATIONS)) {
      expect(own).toBe(name);
      for (const sentence of [shows, leavesOpen, lookNext]) expect(sentence).toMatch(/^[A-Z].+\.$/);
    }
  });

  test('boundaries are told in words', () => {
    expect(inWords('caller', 'wire')).toBe('left the caller, not seen on the wire');
    expect(inWords('wire', 'handler')).toBe('reached the server, not the handler');
    expect(inWords('wire', undefined)).toBe('reached the server; what its handler saw is not visible');
    expect(inWords('handler', 'worker')).toBe('reached the handler, not the work');
    expect(inWords('worker', undefined)).toBe('reached the work');
    expect(inWords(undefined, undefined)).toBe('');
  });
});

describe('whatever the lines are', () => {
  const job = fc.integer({ min: 1, max: 2 });
  const invocation = fc.constantFrom('a', 'b');
  const wireId = fc.constantFrom<string | number>(3, 4, '3');
  const event = <T extends AttemptEvent>(
    source: Source,
    arbitrary: fc.Arbitrary<T>,
  ): fc.Arbitrary<[Source, AttemptEvent]> => arbitrary.map((made) => [source, made]);

  const anyEvent: fc.Arbitrary<[Source, AttemptEvent]> = fc.oneof(
    event(
      'witness',
      fc.record({
        event: fc.constantFrom('worker_stopped', 'worker_granted', 'worker_committed', 'worker_closed_after_grant'),
        job,
      }),
    ),
    event('witness', fc.record({ event: fc.constant('worker_started'), job, by: fc.constant('url') })),
    event('witness', fc.record({ event: fc.constant('worker_disconnected'), job, pid: fc.constant(71) })),
    event('handler', fc.record({ event: fc.constantFrom('handler_signal', 'handler_gone'), invocation })),
    event(
      'handler',
      fc.record({ event: fc.constant('handler_exited'), invocation, how: fc.constantFrom('returned', 'threw') }),
    ),
    event('harness', fc.record({ event: fc.constantFrom('client_abort', 'window_ended'), windowMs: fc.constant(1) })),
    event('harness', fc.record({ event: fc.constant('gate_opened'), gate: fc.constant('allow_commit') })),
    event('harness', fc.record({ event: fc.constant('marker_read'), exists: fc.boolean(), lines: fc.constant(1) })),
    event(
      'harness',
      fc.record({
        event: fc.constant('worker_state'),
        jobs: fc.uniqueArray(fc.record({ job, state: fc.constantFrom('waiting', 'granted', 'committed', 'stopped') }), {
          selector: (entry) => entry.job,
        }),
      }),
    ),
    event(
      'harness',
      fc.record({
        event: fc.constantFrom('marker_unreadable', 'worker_state_unreadable'),
        reason: fc.constant('EIO'),
      }),
    ),
    event(
      'harness',
      fc.record({
        event: fc.constant('server_checked'),
        alive: fc.boolean(),
        samePid: fc.boolean(),
        answers: fc.constant(true),
      }),
    ),
    event('harness', fc.record({ event: fc.constant('client_settled'), settlement: fc.constant('resolved') })),
    event(
      'wire',
      fc.record({
        event: fc.constant('wire'),
        direction: fc.constant('to-server'),
        kind: fc.constant('notification'),
        method: fc.constant('notifications/cancelled'),
        cancels: wireId,
      }),
    ),
    event(
      'wire',
      fc.record({
        event: fc.constant('wire'),
        direction: fc.constant('to-client'),
        kind: fc.constant('response'),
        wireId,
      }),
    ),
  );

  /** A good attempt with anything put in at any place, or left out: near what is green, where mistakes would be. */
  const goodAttempts = [
    () => stoppedDuringWork().watched({ marker: false, state: ['stopped'] }),
    () => notStarted().watched({ marker: false }),
    () => committedThenQuiet().watched({ marker: true, state: ['committed'] }),
    () =>
      attempt('after_settle')
        .aborted()
        .watched({ marker: true, state: ['committed'] }),
  ];
  const spoilt = (which = goodAttempts) =>
    fc
      .record({
        good: fc.constantFrom(...which).map((make) => make().lines),
        put: fc.array(fc.tuple(fc.nat(30), anyEvent), { maxLength: 4 }),
        out: fc.array(fc.nat(30), { maxLength: 2 }),
      })
      .map(({ good, put, out }) => {
        const kept = good.filter((line, i) => isHead(line) || !out.includes(i));
        for (const [place, [source, made]] of put) {
          const at = String(1_000_000_000_000n + BigInt(place) * 1_000_000n);
          kept.splice(place, 0, { seq: 0, at, source, testId: 'x', ...made });
        }
        return kept.map((line, i): AttemptLine => ({ ...line, seq: i + 1 }));
      });
  const isHead = (line: AttemptLine) => line.event === 'attempt_started' || line.event === 'phase_established';
  const caseOf = (lines: readonly AttemptLine[]) => lines.find((line) => line.event === 'attempt_started')?.case;
  const runs = { numRuns: 2_000 };
  const cancelledWork = goodAttempts.slice(0, 2);

  test('never as expected when any job committed after the cancel in before_work or during_work', () => {
    fc.assert(
      fc.property(spoilt(cancelledWork), fc.boolean(), (lines, blackBox) => {
        fc.pre(
          lines.some((line) => line.event === 'worker_committed' || (line.event === 'marker_read' && line.exists)),
        );
        expect(judge(lines, { blackBox }).grade).toBe('leaked');
      }),
      runs,
    );
  });

  test('never as expected when a state is unreadable, the server died, or witness and marker disagree', () => {
    const readsLast = (lines: readonly AttemptLine[], good: string, bad: string) =>
      lines.findLast((line) => line.event === good || line.event === bad)?.event === good;
    fc.assert(
      fc.property(spoilt(), fc.boolean(), (lines, blackBox) => {
        const marker = lines.some((line) => line.event === 'marker_read' && line.exists);
        const commit = lines.some((line) => line.event === 'worker_committed');
        const doubtful =
          !readsLast(lines, 'marker_read', 'marker_unreadable') ||
          !readsLast(lines, 'worker_state', 'worker_state_unreadable') ||
          !lines.some((line) => line.event === 'server_checked') ||
          lines.some((line) => line.event === 'server_checked' && !(line.alive && line.samePid && line.answers)) ||
          marker !== commit;
        fc.pre(doubtful);
        expect(['leaked', 'unknown']).toContain(judge(lines, { blackBox }).grade);
      }),
      runs,
    );
  });

  test('never as expected for a call that the wire did not see cancelled', () => {
    fc.assert(
      fc.property(spoilt(goodAttempts.slice(0, 3)), fc.boolean(), (lines, blackBox) => {
        fc.pre(!lines.some((line) => line.event === 'wire' && line.cancels === 3));
        expect(['leaked', 'unknown']).toContain(judge(lines, { blackBox }).grade);
      }),
      runs,
    );
  });

  test('an attempt is as bad as its worst observation, and named by it', () => {
    fc.assert(
      fc.property(spoilt(), fc.boolean(), (lines, blackBox) => {
        const { grade, outcome, observations } = judge(lines, { blackBox });
        expect(grade).toBe(worstGrade(observations.map((observation) => observation.grade)));
        expect(observations).toEqual([...observations].sort(byGrade));
        expect(new Set(observations.map(({ name }) => name)).size).toBe(observations.length);
        if (grade !== 'as expected') expect(outcome).toBe(observations[0]?.name);
      }),
      runs,
    );
  });

  test('the order in which lines are given does not matter', () => {
    fc.assert(
      fc.property(
        spoilt().chain((lines) =>
          fc.tuple(fc.constant(lines), fc.shuffledSubarray([...lines], { minLength: lines.length })),
        ),
        ([lines, shuffled]) => {
          expect(judge(shuffled, { blackBox: false })).toEqual(judge(lines, { blackBox: false }));
        },
      ),
    );
  });

  test('a late line of a new job can only make an attempt of before_work or during_work worse, or leave it', () => {
    const late = fc.constantFrom<AttemptEvent>(
      { event: 'worker_started', job: 99, by: 'url' },
      { event: 'worker_committed', job: 99 },
    );
    fc.assert(
      fc.property(spoilt(cancelledWork), late, fc.boolean(), (lines, event, blackBox) => {
        expect(['before_work', 'during_work']).toContain(caseOf(lines));
        const line: AttemptLine = { seq: 1_000, at: '9'.repeat(16), source: 'witness', testId: 'x', ...event };
        const before = judge(lines, { blackBox }).grade;
        const after = judge([...lines, line], { blackBox }).grade;
        expect(GRADES.indexOf(after)).toBeLessThanOrEqual(GRADES.indexOf(before));
        expect(after).not.toBe('as expected');
      }),
      runs,
    );
  });
});
