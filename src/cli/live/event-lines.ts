/** Reads server-sent events (WHATWG HTML section 9.2.6) from pieces of text. Ignores comments. */

export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** Limit of a line; the gateway sends no longer ones. */
const LINE_MAX = 1_048_576;

/**
 * @param onId called with each id after its event was taken, and with ids that have no event
 * @throws Error for a line that exceeds the limit
 */
export async function* readEvents(
  pieces: AsyncIterable<string>,
  onId: (id: string) => void = () => undefined,
): AsyncGenerator<StreamEvent> {
  let event = '';
  let data: string[] = [];
  let id: string | undefined;
  for await (const line of linesOf(pieces)) {
    if (line === '') {
      if (data.length > 0) yield { event: event === '' ? 'message' : event, data: data.join('\n') };
      if (id !== undefined) onId(id);
      event = '';
      data = [];
      id = undefined;
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') event = value;
    if (name === 'id') id = value;
    if (name === 'data') data.push(value);
  }
}

/** Lines end with CR, LF or both; a line counts once it has ended. */
async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    rest += piece;
    // A CR at the end may be the first half of a CRLF.
    for (let end = /\r\n|\n|\r(?!$)/.exec(rest); end !== null; end = /\r\n|\n|\r(?!$)/.exec(rest)) {
      yield rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
    }
    if (rest.length > LINE_MAX) throw new Error('An event of the stream has a line without an end');
  }
  if (rest.endsWith('\r')) yield rest.slice(0, -1);
}
