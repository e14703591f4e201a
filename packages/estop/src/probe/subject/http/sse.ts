/**
 * The data of the events in a stream of server-sent events, as its bytes pass, in whatever chunks they come.
 *
 * An event is told as soon as a client could know of it: at the blank line that ends it, before that line goes on.
 * Told are those that an MCP client takes for frames, without a name or named `message`. Of an event that is longer
 * than `max` characters nothing is told.
 */
export function sseReader(max: number, onData: (data: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder();
  let line = '';
  let blank = true;
  let data: string[] = [];
  let name = '';
  let size = 0;
  // A line may end in CRLF, and the LF may come in the next chunk; the line has ended at the CR.
  let afterCr = false;

  /** What is not going to be told is not kept. */
  function add(part: string): void {
    if (part === '') return;
    blank = false;
    size += part.length;
    if (size <= max) line += part;
  }

  function endLine(): void {
    if (blank) endEvent();
    else takeField(line);
    line = '';
    blank = true;
  }

  function takeField(text: string): void {
    const colon = text.indexOf(':');
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = value;
    if (field === 'data') data.push(value);
  }

  function endEvent(): void {
    const told = data.length > 0 && size <= max && (name === '' || name === 'message');
    const text = data.join('\n');
    data = [];
    name = '';
    size = 0;
    if (told) onData(text);
  }

  return (chunk) => {
    let text = decoder.decode(chunk, { stream: true });
    if (text === '') return;
    if (afterCr && text.startsWith('\n')) text = text.slice(1);
    afterCr = text === '' ? false : text.endsWith('\r');
    for (const [n, part] of text.split(/\r\n|\n|\r/).entries()) {
      if (n > 0) endLine();
      add(part);
    }
  };
}
