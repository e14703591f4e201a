/** A worker that names a pid which is not its own here, as one in a PID namespace of its own does: that of its parent. */
import { request } from 'node:http';

const [url] = process.argv.slice(2);
const waiting = request(`${url}/command/${process.ppid}`, { method: 'POST', agent: false });
waiting.once('response', (response) => response.resume().once('end', () => process.exit(0)));
waiting.end();
