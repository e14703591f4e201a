/** Broken: tells what happens, and answers no question. */
import { lie } from './lie.mjs';

await lie((message) => (message.type === 'state' ? undefined : message));
