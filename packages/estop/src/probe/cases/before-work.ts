/** Cancelled while the handler waits at its first gate. What is waited for is the handler's end. */
import { type Case, requireEvent } from './case.ts';

export const beforeWork: Case = {
  name: 'before_work',
  watches: true,
  establish: (stage) => requireEvent(stage, 'handler_started'),
  async observe(stage) {
    await stage.cancel(({ event }) => event === 'handler_exited' || event === 'handler_gone');
  },
};
