/** Replaces `{{name}}` in every string of a JSON value; a name that is not known stays as it is. */
export function fill<T>(value: T, names: Readonly<Record<string, string>>): T;
export function fill(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string')
    return value.replaceAll(/\{\{\s*([\w.]+)\s*\}\}/g, (text, name) => names[name] ?? text);
  if (Array.isArray(value)) return value.map((item) => fill(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, names)]));
}
