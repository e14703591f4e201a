/**
 * The first rung: asks. The signal fires for the handler and for all work, then they have the grace to end by themselves.
 *
 * Shows nothing by itself: a handler may ignore its signal, and one that settles may leave its work behind.
 */
import { hasEnded, type Rung, within } from './rung.ts';

export const signalRung: Rung = {
  name: 'signal',
  async climb(call, { clock, graceMs }) {
    call.fire();
    if (call.reason) for (const work of call.works) work.signal(call.reason);
    if (!hasEnded(call)) await within(clock, graceMs, call.quiet);
  },
};
