/** Broken: takes the end of a command's connection for its stop. */
import { lie } from './lie.mjs';

await lie((message) => (message.event === 'worker_disconnected' ? { ...message, event: 'worker_stopped' } : message));
