/**
 * The first rung: asks. The signal fires for the handler and for all work, then they have the grace to end by themselves.
 *
 * The grace is for those who can hear: when the handler has settled and only processes are left, which know nothing of
 * a signal, it is over. Shows nothing by itself: a handler may ignore its signal, and one that settles may leave its
 * work behind.
 */
import { type Climber, type Rung, within } from './rung.ts';

export const signalRung: Rung = {
  name: 'signal',
  isFor: () => true,
  async climb(call, { clock, graceMs }) {
    call.fire();
    if (call.reason) for (const work of call.works) work.signal(call.reason);
    if (isHeard(call))
      await within(
        clock,
        graceMs,
        call.until((now) => !isHeard(now)),
      );
  },
};

/** Whether somebody is there who may still act on the signal. */
function isHeard({ handlerFact, works }: Climber): boolean {
  return handlerFact === 'running' || works.some((work) => work.listens && work.fact === 'unknown');
}
