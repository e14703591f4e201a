/** What the broken witnesses share: the real one, whose words go through a liar on their way to the harness. */
import { appendFileSync } from 'node:fs';

const markers = new Map();

/** @param change  `(message)`: what is said instead; nothing, where it gives back nothing */
export async function lie(change) {
  process.on('message', (message) => {
    if (message.type === 'arm') markers.set(message.testId, message.marker);
  });
  const send = process.send.bind(process);
  process.send = (message, ...rest) => {
    const said = change(message);
    return said === undefined ? true : send(said, ...rest);
  };
  await import('../../../dist/probe/witness/process.js');
}

export function writeMarker(testId) {
  appendFileSync(markers.get(testId), 'written behind the back\n');
}
