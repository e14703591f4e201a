/**
 * What a handler returned, as a tool's result. A text is one text, nothing is no content, and anything else is its JSON.
 *
 * A result that is one already, with a `content` array, passes as it is. Checks nothing against the output schema: the
 * SDK does.
 */
export interface ToolResult {
  readonly content: readonly unknown[];
  readonly structuredContent?: unknown;
}

/**
 * @param what names the tool: `tool "scrape"`
 * @param hasOutput whether the tool has an output schema, which wants its value as data too
 * @throws TypeError for what has no JSON, naming the tool
 */
export function resultOf(value: unknown, what: string, hasOutput: boolean): ToolResult {
  if (value === undefined) return { content: [] };
  if (isResult(value)) return value;
  const json = jsonOf(value, what);
  const content = [{ type: 'text', text: typeof value === 'string' ? value : json }];
  // What is checked is what is sent: a date, say, is the text that its JSON has for it.
  return hasOutput ? { content, structuredContent: JSON.parse(json) as unknown } : { content };
}

function isResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && Array.isArray((value as Partial<ToolResult>).content);
}

function jsonOf(value: unknown, what: string): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause);
    throw new TypeError(`estop: ${what} returned what cannot be JSON: ${why}`, { cause });
  }
  if (json === undefined) throw new TypeError(`estop: ${what} returned what cannot be JSON: a ${typeof value}`);
  return json;
}
