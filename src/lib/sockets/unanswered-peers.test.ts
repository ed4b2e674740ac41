import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ABOUT_A_MINUTE, SECONDS, UnansweredPeers } from './unanswered-peers.ts';

const server = createServer();
let client: Socket;
let accepted: Socket;
let nowMs = 0;
const clock = { monotonicMs: () => nowMs };

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const arrived = new Promise<Socket>((done) => server.once('connection', done));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  accepted = await arrived;
});
afterAll(() => {
  client.destroy();
  accepted.destroy();
  server.close();
});

/** The table of the system, with another timer and other repetitions for the accepted connection. */
function withTimer(path: string, timer: string, repetitions: string): string {
  const own = `:${hex(accepted.localPort)} 0100007F:${hex(client.localPort)} 01`;
  return readFileSync(path, 'latin1').replaceAll(/^.*$/gm, (row) => {
    if (!row.includes(own)) return row;
    const fields = row.trim().split(/\s+/);
    return `  ${[...fields.slice(0, 5), timer, repetitions, ...fields.slice(7)].join(' ')}`;
  });
}
const hex = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0');

it('takes a client that acknowledges what it gets to be there', async () => {
  accepted.write('something');
  await new Promise((done) => client.once('data', done));
  expect(new UnansweredPeers(clock).has(accepted, SECONDS)).toBe(false);
});

it.each([
  ['the fifth repetition', '01:00000200', '00000005', true],
  ['more of them', '01:00000200', '0000000B', true],
  ['a few, as on a network that loses packets', '01:00000200', '00000004', false],
  ['a client that does not read', '04:00000200', '00000009', false],
  ['no timer', '00:00000000', '00000000', false],
])('judges by the repetitions: %s', (_name, timer, repetitions, isGone) => {
  const clients = new UnansweredPeers(clock, (path) => withTimer(path, timer, repetitions));
  expect(clients.has(accepted, SECONDS)).toBe(isGone);
  expect(clients.has(accepted, ABOUT_A_MINUTE)).toBe(isGone && repetitions > '00000007');
  // The other end of the connection has a row of its own.
  expect(clients.has(client, SECONDS)).toBe(false);
});

it('rests after a reading that took long, and takes all to be there when what it knows is old', () => {
  let reads = 0;
  const peers = new UnansweredPeers(clock, (path) => {
    reads++;
    nowMs += 20;
    return withTimer(path, '01:00000200', '00000009');
  });
  expect(peers.has(accepted, SECONDS)).toBe(true);
  nowMs += 3_000;
  expect(peers.has(accepted, SECONDS)).toBe(false);
  expect(reads).toBe(2);
  nowMs += 1_100;
  expect(peers.has(accepted, SECONDS)).toBe(true);
  expect(reads).toBe(4);
});

it('reads the table at most once a second, and needs neither it nor an open socket', () => {
  let reads = 0;
  const clients = new UnansweredPeers(clock, () => {
    reads++;
    throw new Error('no such file');
  });
  for (let times = 0; times < 5; times++) expect(clients.has(accepted, SECONDS)).toBe(false);
  expect(reads).toBe(2);
  nowMs += 1_000;
  expect(clients.has(accepted, SECONDS)).toBe(false);
  expect(reads).toBe(4);
  const ended = connect((server.address() as AddressInfo).port, '127.0.0.1');
  ended.destroy();
  expect(clients.has(ended, SECONDS)).toBe(false);
});
