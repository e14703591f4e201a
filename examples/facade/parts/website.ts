/** A website with two pages: `/quick`, and `/stuck`, which begins and never ends. It knows who hung up on it. */
import { EventEmitter } from 'node:events';
import { type HttpServer, listen } from './http-server.ts';

export interface Website extends HttpServer {
  /** Requests that have come, and those whose client hung up before the page was whole. */
  readonly seen: { requests: number; hangUps: number };
  /** `request` and `hang-up`, once for each. */
  readonly events: EventEmitter;
}

export async function openWebsite(): Promise<Website> {
  const events = new EventEmitter();
  const seen = { requests: 0, hangUps: 0 };
  const server = await listen((request, response) => {
    seen.requests += 1;
    events.emit('request');
    response.on('close', () => {
      if (response.writableFinished) return;
      seen.hangUps += 1;
      events.emit('hang-up');
    });
    response.writeHead(200, { 'content-type': 'text/html' });
    if (request.url === '/quick') response.end('<h1>Here it is</h1>');
    else response.write('<h1>Just a mom');
  });
  return { ...server, seen, events };
}
