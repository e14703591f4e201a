/**
 * The answer to one HTTP request, as far as estop has a say in it: another one can be put in its place while nothing of
 * it was written.
 *
 * What the SDK writes afterwards goes nowhere, and throws nowhere.
 */
import type { ServerResponse } from 'node:http';

/** No body, or JSON. */
export interface Replacement {
  readonly status: number;
  readonly json?: unknown;
}

export interface Answer {
  setHeader(name: string, value: string): void;
  /** @returns false when the answer has begun: then it stays as it is */
  replace(by: Replacement): boolean;
  /** Hears each chunk of the body as it goes out. Before the first of them. */
  watch(listener: (chunk: string) => void): void;
}

export class NodeAnswer implements Answer {
  readonly #response: ServerResponse;
  #isReplaced: (() => void) | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  setHeader(name: string, value: string): void {
    if (!this.#response.headersSent) this.#response.setHeader(name, value);
  }

  replace({ status, json }: Replacement): boolean {
    const response = this.#response;
    if (response.headersSent) return false;
    const body = json === undefined ? undefined : JSON.stringify(json);
    response.writeHead(status, body === undefined ? {} : { 'content-type': 'application/json' });
    response.end(body);
    const nothing = { writeHead: () => response, write: () => true, end: () => response, flushHeaders: () => {} };
    Object.assign(response, nothing);
    this.#isReplaced?.();
    return true;
  }

  /** Resolves when the SDK has answered, or will not need to. */
  over(handled: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#isReplaced = () => resolve(undefined);
      handled.then(resolve, reject);
    });
  }

  watch(listener: (chunk: string) => void): void {
    const response = this.#response;
    const write = response.write.bind(response) as (...args: unknown[]) => boolean;
    response.write = ((chunk: unknown, ...rest: unknown[]) => {
      listener(textOf(chunk));
      return write(chunk, ...rest);
    }) as ServerResponse['write'];
  }
}

export class WebAnswer implements Answer {
  #headers: [string, string][] | undefined;
  #hasBegun = false;
  #listener: ((chunk: string) => void) | undefined;
  #replacement: Response | undefined;
  #answer: ((response: Response) => void) | undefined;

  setHeader(name: string, value: string): void {
    this.#headers ??= [];
    this.#headers.push([name, value]);
  }

  replace({ status, json }: Replacement): boolean {
    if (this.#hasBegun) return false;
    this.#hasBegun = true;
    this.#replacement = json === undefined ? new Response(null, { status }) : Response.json(json, { status });
    this.#answer?.(this.#replacement);
    return true;
  }

  watch(listener: (chunk: string) => void): void {
    this.#listener = listener;
  }

  /** @returns what is answered: what the SDK says, unless that was replaced before */
  instead(of: Promise<Response> | undefined): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      if (this.#replacement !== undefined) resolve(this.#replacement);
      of?.then((response) => {
        // Nobody will read it.
        if (this.#replacement !== undefined) void response.body?.cancel();
        else resolve(this.#begun(response));
      }, reject);
    });
  }

  #begun(response: Response): Response {
    this.#hasBegun = true;
    for (const [name, value] of this.#headers ?? []) response.headers.set(name, value);
    const listener = this.#listener;
    if (listener === undefined || response.body === null) return response;
    const tap = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        listener(textOf(chunk));
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(tap), response);
  }
}

function textOf(chunk: unknown): string {
  return typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array).toString('utf8');
}
