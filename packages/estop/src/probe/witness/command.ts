/**
 * The worker that `{{work.command}}` starts: a process whose work is to wait at the witness until it is let go on.
 *
 *     node command.js <where the work comes to>
 *
 * It holds one connection, its control connection, and names its pid on it. Let go on, it prints what the witness
 * answers and exits with 0. A signal does to it what it does to any program: it has no handler, no cleanup, no limit.
 *
 * It must do nothing that looks like a stop and is none. So it does not end because its connection did: it stays, as
 * real work would, for as long as its witness is there. Does not start processes, and does not read its stdin.
 */
import { request } from 'node:http';
import { connect } from 'node:net';

const LOOK_AGAIN_MS = 250;

const [url = ''] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const waiting = request(`${url}/command/${process.pid}`, { method: 'POST', agent: false });
waiting.once('error', stay);
waiting.once('response', (response) => {
  let said = '';
  response.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  response.once('error', stay);
  response.once('end', () => {
    const done = response.statusCode === 200;
    process.exitCode = done ? 0 : 1;
    (done ? process.stdout : process.stderr).write(`${said.trim() || `estop: refused (${response.statusCode})`}\n`);
  });
});
waiting.end();

/** Without a connection there is nothing to be let go by; with the witness gone, nobody is left to stay for. */
function stay(): void {
  const look = connect(Number(port), hostname);
  look.once('connect', () => {
    look.destroy();
    setTimeout(stay, LOOK_AGAIN_MS);
  });
  look.once('error', ({ message }) => {
    process.stderr.write(`estop: the witness cannot be reached: ${message}\n`);
    process.exitCode = 1;
  });
}
