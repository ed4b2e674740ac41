import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { testConnection, withTimer } from './connection.fixture.ts';
import { SECONDS, UnansweredPeers } from './unanswered-peers.ts';

const pair = testConnection();
let nowMs = 0;
const clock = { monotonicMs: () => nowMs };

it('takes a client that acknowledges what it gets to be there', async () => {
  const { accepted, client } = pair();
  accepted.write('something');
  await new Promise((done) => client.once('data', done));
  expect(new UnansweredPeers(clock).has(accepted, SECONDS)).toBe(false);
});

it.each([
  ['the fifth repetition', '01:00000200', '00000005', '0', true],
  ['more of them', '01:00000200', '0000000B', '0', true],
  ['a few, as on a network that loses packets', '01:00000200', '00000004', '0', false],
  ['a client that does not read, and says so', '04:00000200', '00000009', '0', false],
  ['a client that did not read, and no longer says so', '04:00000200', '00000000', '5', true],
  ['no timer', '00:00000000', '00000000', '9', false],
])('judges by the repetitions: %s', (_name, timer, repetitions, questions, isGone) => {
  const { accepted, client } = pair();
  const table = (path: string): string =>
    withTimer(readFileSync(path, 'latin1'), pair(), { timer, repetitions, questions });
  const peers = new UnansweredPeers(clock, table);
  expect(peers.has(accepted, SECONDS)).toBe(isGone);
  // The other end of the connection has a row of its own.
  expect(peers.has(client, SECONDS)).toBe(false);
});

it('rests after a reading that took long, and takes all to be there when what it knows is old', () => {
  let reads = 0;
  const { accepted } = pair();
  const peers = new UnansweredPeers(clock, (path) => {
    reads++;
    nowMs += 20;
    return withTimer(readFileSync(path, 'latin1'), pair(), { repetitions: '00000009' });
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
  const { accepted, port } = pair();
  const peers = new UnansweredPeers(clock, () => {
    reads++;
    throw new Error('no such file');
  });
  for (let times = 0; times < 5; times++) expect(peers.has(accepted, SECONDS)).toBe(false);
  expect(reads).toBe(2);
  nowMs += 1_000;
  expect(peers.has(accepted, SECONDS)).toBe(false);
  expect(reads).toBe(4);
  const ended = connect(port);
  ended.destroy();
  expect(peers.has(ended, SECONDS)).toBe(false);
});
