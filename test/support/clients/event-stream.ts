/** Reads server-sent events (WHATWG HTML, section 9.2) from a real socket, as strictly as a browser does. */
import * as http from 'node:http';

export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
  readonly data: any;
}

export interface EventClient {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly events: ServerEvent[];
  /** Names of all fields that came. */
  readonly fields: Set<string>;
  readonly comments: string[];
  readonly ended: boolean;
  /** Body of an answer that is no stream. */
  text(): string;
  of(event: string): ServerEvent['data'][];
  /** Reads no more, and keeps the connection. */
  pause(): void;
  close(): void;
}

export function openEvents(
  url: string,
  token: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventClient> {
  return new Promise((resolve, reject) => {
    const request = http.get(
      url,
      { agent: false, headers: { Authorization: `Bearer ${token}`, ...headers } },
      (response) => resolve(follow(request, response)),
    );
    request.once('error', reject);
  });
}

function follow(request: http.ClientRequest, response: http.IncomingMessage): EventClient {
  const events: ServerEvent[] = [];
  const fields = new Set<string>();
  const comments: string[] = [];
  let ended = false;
  let rest = '';
  let whole = '';
  let lines: string[] = [];
  const dispatch = (): void => {
    const values = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (name === '') comments.push(value);
      else {
        fields.add(name);
        values.set(name, value);
      }
    }
    lines = [];
    const data = values.get('data');
    if (data !== undefined)
      events.push({ id: values.get('id'), event: values.get('event') ?? 'message', data: JSON.parse(data) });
  };
  response.setEncoding('utf8').on('data', (chunk: string) => {
    whole += chunk;
    rest += chunk;
    // Lines end at CR, LF or both.
    for (let match = /\r\n|\n|\r/.exec(rest); match !== null; match = /\r\n|\n|\r/.exec(rest)) {
      const line = rest.slice(0, match.index);
      rest = rest.slice(match.index + match[0].length);
      if (line === '') dispatch();
      else lines.push(line);
    }
  });
  const onEnd = (): void => void (ended = true);
  response.on('end', onEnd).on('close', onEnd).on('error', onEnd);
  request.on('error', onEnd);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    fields,
    comments,
    get ended() {
      return ended;
    },
    text: () => whole,
    of: (event) => events.filter((each) => each.event === event).map(({ data }) => data),
    pause: () => void response.pause(),
    close: () => void request.destroy(),
  };
}
