/**
 * A worker whose control connection ends while its process lives on: on SIGUSR2 it closes the one and goes on.
 *
 * Without that signal it does what a worker does. It ends with its standard input.
 */
import { request } from 'node:http';

const [url] = process.argv.slice(2);
const waiting = request(`${url}/command/${process.pid}`, { method: 'POST', agent: false });
waiting.on('error', () => {});
waiting.once('response', (response) => response.resume().once('end', () => process.exit(0)));
process.once('SIGUSR2', () => waiting.destroy());
process.stdin.resume().once('end', () => process.exit(0));
waiting.end();
