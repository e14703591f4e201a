/** Functions of isolated tools: they return what a handler returns. */
import { inputRequired } from '@modelcontextprotocol/server';

const text = (text) => ({ content: [{ type: 'text', text }] });

export function greet(args) {
  return { ...text(JSON.stringify(args)), structuredContent: { length: args.name.length } };
}

export function lies() {
  return { ...text('lies'), structuredContent: { length: 'long' } };
}

export function contextIs(args, context) {
  const remaining = String(context.remaining());
  return text(JSON.stringify({ args, aborted: context.signal.aborted, remaining }));
}

export async function throws() {
  throw new TypeError('from the other side');
}

export function tells(_args, context) {
  context.progress({ progress: 1, total: 2, message: 'half' });
  context.progress({ progress: 2, total: 2 });
  return text('told');
}

export function spins(_args, context) {
  context.progress({ progress: 1 });
  for (;;);
}

export function hogs() {
  const kept = [];
  for (;;) kept.push(Buffer.alloc(2 ** 20, 1));
}

const shown = ({ name, message, code, data }) => ({ name, message, code, data });

/** What comes of a question to the client, as a text. */
export async function asks({ question, params, options }, context) {
  return text(JSON.stringify(await context[question](params, options).catch(shown)));
}

/** Asks, and says something afterwards whatever came of it. */
export async function asksAndWaits({ params }, context) {
  context.log('info', 'before the question');
  try {
    await context.elicitInput(params);
  } finally {
    context.log('info', 'after the stop');
    context.progress({ progress: 1 });
  }
}

export function rounds(_args, { requestState, inputResponses }) {
  if (requestState === '2') return text(`after 2 rounds: ${JSON.stringify(inputResponses)}`);
  const requestedSchema = { type: 'object', properties: { color: { type: 'string' } } };
  return inputRequired({
    inputRequests: { color: inputRequired.elicit({ message: 'Which color?', requestedSchema }) },
    requestState: String(Number(requestState ?? 0) + 1),
  });
}

export function logs(_args, context) {
  context.log('debug', 'debugging');
  context.log('warning', { disk: 'full' }, 'disks');
  return text('logged');
}
