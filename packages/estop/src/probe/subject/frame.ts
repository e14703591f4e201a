/** What a frame is, whatever carries it: a JSON object, or a batch of them. Whether it is JSON-RPC is not looked at. */

/** Of one frame, in characters or bytes: what is longer is not read. */
export const MAX_FRAME = 10 * 1024 * 1024;
/** Of what is no frame, for the log. */
export const MAX_TEXT = 200;

export function parseFrame(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
