/**
 * Holds many keep-alive connections at rest, each of which has carried one request. As a program: port, count and
 * path as arguments; says "ready" when all are at rest and lets go of them when its input ends.
 */
import * as net from 'node:net';

const [port = '', count = '', path = ''] = process.argv.slice(2);
/** How many are being set up at a time. */
const AT_ONCE = 100;
const REQUEST = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;

const held: net.Socket[] = [];

/** Resolves when a whole response has come; the small ones of the origin come in one piece. */
function open(): Promise<void> {
  return new Promise((done, fail) => {
    const socket = net.connect(Number(port), '127.0.0.1');
    socket.once('connect', () => socket.write(REQUEST));
    socket.once('data', (bytes: Buffer) => {
      if (bytes.toString('latin1').startsWith('HTTP/1.1 200')) done();
      else fail(new Error(bytes.toString('latin1')));
    });
    socket.once('error', fail);
    socket.once('close', () => fail(new Error('the proxy closed an idle connection')));
    held.push(socket);
  });
}

for (let opened = 0; opened < Number(count); opened += AT_ONCE) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, Number(count) - opened) }, open));
}
process.stdout.write('ready\n');
process.stdin.resume();
process.stdin.once('end', () => process.exit());
