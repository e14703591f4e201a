/**
 * The tools of three of the servers, each of them deaf: what its handler does not do about its signal, nobody does.
 * They are in a module of their own so that they can be run in a thread as they are.
 */
import { slowMarker } from 'estop/kit';

export { hang } from './hang.ts';

export const slow = slowMarker({ onSignal: 'ignore' });
