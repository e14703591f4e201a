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
  private readonly _response: ServerResponse;
  private _isReplaced: (() => void) | undefined;

  constructor(response: ServerResponse) {
    this._response = response;
  }

  setHeader(name: string, value: string): void {
    if (!this._response.headersSent) this._response.setHeader(name, value);
  }

  replace({ status, json }: Replacement): boolean {
    const response = this._response;
    if (response.headersSent) return false;
    const body = json === undefined ? undefined : JSON.stringify(json);
    response.writeHead(status, body === undefined ? {} : { 'content-type': 'application/json' });
    response.end(body);
    const nothing = { writeHead: () => response, write: () => true, end: () => response, flushHeaders: () => {} };
    Object.assign(response, nothing);
    this._isReplaced?.();
    return true;
  }

  /**
   * @param then called when the SDK has answered
   * @returns resolves when it has, or will not need to
   */
  over(handled: Promise<unknown>, then: () => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this._isReplaced = () => resolve(undefined);
      handled.then(then, then);
      handled.then(resolve, reject);
    });
  }

  watch(listener: (chunk: string) => void): void {
    const response = this._response;
    const write = response.write.bind(response) as (...args: unknown[]) => boolean;
    response.write = ((chunk: unknown, ...rest: unknown[]) => {
      listener(textOf(chunk));
      return write(chunk, ...rest);
    }) as ServerResponse['write'];
  }
}

export class WebAnswer implements Answer {
  private _headers: [string, string][] | undefined;
  private _hasBegun = false;
  private _listener: ((chunk: string) => void) | undefined;
  private _replacement: Response | undefined;
  private _answer: ((response: Response) => void) | undefined;

  setHeader(name: string, value: string): void {
    this._headers ??= [];
    this._headers.push([name, value]);
  }

  replace({ status, json }: Replacement): boolean {
    if (this._hasBegun) return false;
    this._hasBegun = true;
    this._replacement = json === undefined ? new Response(null, { status }) : Response.json(json, { status });
    this._answer?.(this._replacement);
    return true;
  }

  watch(listener: (chunk: string) => void): void {
    this._listener = listener;
  }

  /**
   * @param then called when the SDK has answered
   * @returns what is answered: what the SDK says, unless that was replaced before
   */
  instead(of: Promise<Response> | undefined, then = (): void => {}): Promise<Response> {
    return new Promise((resolve, reject) => {
      this._answer = resolve;
      if (this._replacement !== undefined) resolve(this._replacement);
      of?.then(then, then);
      of?.then((response) => {
        // Nobody will read it.
        if (this._replacement !== undefined) void response.body?.cancel();
        else resolve(this._begun(response));
      }, reject);
    });
  }

  private _begun(response: Response): Response {
    this._hasBegun = true;
    for (const [name, value] of this._headers ?? []) response.headers.set(name, value);
    const listener = this._listener;
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
