/**
 * A peer that marks the floor for any proxy in Node.js: it passes bytes on between two sockets and looks at none of
 * them, with the ways of reading and writing that were found to be the cheapest
 * (docs/explanation/decisions/sockets.md): one shared buffer for all reads, text straight to the handle, all writes of
 * a turn at its end; what is larger goes at once and from where it was read. What Headgate takes above it is Headgate's
 * own; what it takes above nginx is Node.js. It has no back-pressure and no care for errors.
 */
import * as net from 'node:net';

interface Handle {
  writeLatin1String(request: object, text: string): number;
  writeBuffer(request: object, bytes: Buffer): number;
}

interface Writer {
  readonly handle: Handle;
  text: string;
}

const { WriteWrap } = (
  process as unknown as { binding(name: string): { readonly WriteWrap: new () => { getAsyncId(): number } } }
).binding('stream_wrap');

const port = Number(process.env['BENCH_PORT']);
const originPort = Number(process.env['BENCH_ORIGIN_PORT']);
const buffer = Buffer.allocUnsafeSlow(64 * 1024);
/** From here on what was read is no text. */
const LARGE_BYTES = 4096;
let waiting: Writer[] = [];
let spare = new WriteWrap();

function flush(): void {
  const writers = waiting;
  waiting = [];
  for (const writer of writers) {
    const { text } = writer;
    writer.text = '';
    const request = spare;
    writer.handle.writeLatin1String(request, text);
    // In use when the system did not take all of it.
    if (request.getAsyncId() > 0) spare = new WriteWrap();
  }
}

function pass(to: Writer | undefined, length: number): void {
  if (to === undefined) return;
  if (length >= LARGE_BYTES && to.text === '') {
    to.handle.writeBuffer(spare, buffer.subarray(0, length));
    // The next read would overwrite it.
    if (spare.getAsyncId() > 0) throw new Error('The system did not take all of it at once');
    return;
  }
  if (to.text === '' && waiting.push(to) === 1) setImmediate(flush);
  to.text += buffer.toString('latin1', 0, length);
}

/* oxlint-disable no-underscore-dangle -- Node's names */
function handleOf(socket: net.Socket): Handle {
  return (socket as unknown as { readonly _handle: Handle })._handle;
}

const server = net.createServer({ pauseOnConnect: true, noDelay: true }, (accepted) => {
  const from = accepted as unknown as { _handle: unknown; _server: unknown };
  const handle = from._handle;
  from._handle = null;
  from._server = null;
  let [front, back]: [Writer | undefined, Writer | undefined] = [undefined, undefined];
  const origin = net.connect({
    port: originPort,
    host: '127.0.0.1',
    noDelay: true,
    onread: { buffer, callback: (length) => (pass(front, length), true) },
  });
  origin.once('connect', () => {
    back = { handle: handleOf(origin), text: '' };
    const options = {
      handle,
      onread: { buffer, callback: (length: number) => (pass(back, length), true) },
    };
    const client = new net.Socket(options as unknown as net.SocketConstructorOpts);
    front = { handle: handleOf(client), text: '' };
    client.resume();
    for (const [one, other] of [
      [client, origin],
      [origin, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  origin.on('error', () => undefined);
});
server.listen(port, '127.0.0.1', 1024);
