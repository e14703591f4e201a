/** Functions of isolated tools: they return what a handler returns. */
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
  throw new TypeError('from the thread');
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
