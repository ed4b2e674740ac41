/** A client that sends exactly the bytes that it is given, and shows exactly the bytes that come back. */
import * as net from 'node:net';

export interface RawResponse {
  readonly status: number;
  /** Lower-case names; repeated fields are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Body with its framing undone, latin1. */
  readonly body: string;
  readonly interim: readonly number[];
}

export interface RawClient {
  readonly socket: net.Socket;
  write(data: string | Buffer): void;
  /** Everything received so far, latin1. */
  received(): string;
  /** The next complete response; rejects when the connection closes or `timeoutMs` passes before. */
  response(options?: { readonly head?: boolean; readonly timeoutMs?: number }): Promise<RawResponse>;
  /** Resolves when the peer has closed. */
  closed(timeoutMs?: number): Promise<void>;
  end(): void;
}

/** @param from address of this side, one of loopback */
export async function connectRaw(port: number, from?: string): Promise<RawClient> {
  const local = from === undefined ? {} : { localAddress: from };
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, ...local });
  socket.setNoDelay(true);
  let buffer = '';
  let consumed = 0;
  let isClosed = false;
  const wake = new Set<() => void>();
  const notify = (): void => {
    for (const call of wake) call();
  };
  socket.on('data', (chunk: Buffer) => {
    buffer += chunk.toString('latin1');
    notify();
  });
  const onClosed = (): void => {
    isClosed = true;
    notify();
  };
  socket.on('end', onClosed);
  socket.on('close', onClosed);
  socket.on('error', () => undefined);
  await new Promise<void>((done, fail) => {
    socket.once('connect', done);
    socket.once('error', fail);
  });
  const until = async <T>(look: () => T | undefined, what: string, timeoutMs: number): Promise<T> => {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      const leftMs = deadline - Date.now();
      if (leftMs <= 0)
        throw new Error(`No ${what} within ${timeoutMs} ms; received ${JSON.stringify(buffer)}`);
      await new Promise<void>((done) => {
        const timer = setTimeout(call, leftMs);
        function call(): void {
          clearTimeout(timer);
          wake.delete(call);
          done();
        }
        wake.add(call);
      });
    }
  };
  return {
    socket,
    write: (data) => void socket.write(data, 'latin1' as BufferEncoding),
    received: () => buffer,
    response: ({ head = false, timeoutMs = 10_000 } = {}) =>
      until(
        () => {
          const parsed = parseResponse(buffer.slice(consumed), head, isClosed);
          if (parsed === undefined) {
            if (isClosed) throw new Error(`Closed before a response; received ${JSON.stringify(buffer)}`);
            return undefined;
          }
          consumed += parsed.length;
          return parsed.response;
        },
        'response',
        timeoutMs,
      ),
    closed: async (timeoutMs = 10_000) =>
      void (await until(() => (isClosed ? true : undefined), 'close', timeoutMs)),
    end: () => socket.destroy(),
  };
}

/** Sends one request on a connection of its own and gives its response. */
export async function sendRaw(port: number, data: string | Buffer, head = false): Promise<RawResponse> {
  const client = await connectRaw(port);
  try {
    client.write(data);
    return await client.response({ head });
  } finally {
    client.end();
  }
}

function parseResponse(
  text: string,
  isHead: boolean,
  isClosed: boolean,
): { readonly response: RawResponse; readonly length: number } | undefined {
  const interim: number[] = [];
  let from = 0;
  for (;;) {
    const end = text.indexOf('\r\n\r\n', from);
    if (end < 0) return undefined;
    const [line = '', ...fields] = text.slice(from, end).split('\r\n');
    const status = Number(line.split(' ')[1]);
    const headers: Record<string, string> = {};
    for (const field of fields) {
      const colon = field.indexOf(':');
      const name = field.slice(0, colon).toLowerCase();
      // RFC 9110 section 5.6.3; trim() takes other characters too, such as 0xA0.
      const value = field.slice(colon + 1).replaceAll(/^[ \t]+|[ \t]+$/g, '');
      headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
    }
    from = end + 4;
    if (status < 200 && status !== 101) {
      interim.push(status);
      continue;
    }
    const body =
      isHead || status === 204 || status === 304
        ? { text: '', length: 0 }
        : readBody(text.slice(from), headers, isClosed);
    if (body === undefined) return undefined;
    return { response: { status, headers, body: body.text, interim }, length: from + body.length };
  }
}

function readBody(
  text: string,
  headers: Readonly<Record<string, string>>,
  isClosed: boolean,
): { readonly text: string; readonly length: number } | undefined {
  if (headers['transfer-encoding'] === 'chunked') return readChunks(text);
  const length = headers['content-length'];
  if (length === undefined) return isClosed ? { text, length: text.length } : undefined;
  return text.length < Number(length)
    ? undefined
    : { text: text.slice(0, Number(length)), length: Number(length) };
}

function readChunks(text: string): { readonly text: string; readonly length: number } | undefined {
  let from = 0;
  let body = '';
  for (;;) {
    const lineEnd = text.indexOf('\r\n', from);
    if (lineEnd < 0) return undefined;
    const size = parseInt(text.slice(from, lineEnd), 16);
    from = lineEnd + 2;
    if (size === 0) {
      const end = text.indexOf('\r\n', from) === from ? from + 2 : text.indexOf('\r\n\r\n', from) + 4;
      return end < 4 && end !== from + 2 ? undefined : { text: body, length: end };
    }
    if (text.length < from + size + 2) return undefined;
    body += text.slice(from, from + size);
    from += size + 2;
  }
}
