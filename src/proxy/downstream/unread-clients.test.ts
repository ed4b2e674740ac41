import { expect, it } from 'vitest';
import { UNREAD_MS, UnreadClients, type AnsweredClient } from './unread-clients.ts';

class Client implements AnsweredClient {
  isUnread = true;
  isCut = false;
  cutOff(): void {
    this.isCut = true;
    this.isUnread = false;
  }
}

it('a client that had unread answers at each check for a while is closed first', () => {
  const [deaf, reading, newer] = [new Client(), new Client(), new Client()];
  const clients = [deaf, reading];
  const unread = new UnreadClients(() => clients);
  for (let atMs = 0; atMs < UNREAD_MS; atMs += 1_000) {
    reading.isUnread = atMs !== 2_000;
    expect(unread.makeRoom(atMs)).toBe(false);
  }
  clients.push(newer);
  expect(unread.makeRoom(UNREAD_MS)).toBe(true);
  expect(unread.makeRoom(UNREAD_MS)).toBe(false);
  expect([deaf.isCut, reading.isCut, newer.isCut]).toEqual([true, false, false]);
});

it('a client that has read in the meantime keeps its place', () => {
  const clients = [new Client(), new Client()];
  const unread = new UnreadClients(() => clients);
  unread.makeRoom(0);
  expect(unread.makeRoom(UNREAD_MS)).toBe(true);
  const left = clients.find(({ isCut }) => !isCut);
  if (left !== undefined) left.isUnread = false;
  expect(unread.makeRoom(UNREAD_MS)).toBe(false);
});

it('checks at most once a second, and forgets old results', () => {
  let looks = 0;
  const client = new Client();
  const unread = new UnreadClients(() => {
    looks += 1;
    return [client];
  });
  for (let atMs = 0; atMs < 1_000; atMs += 10) unread.makeRoom(atMs);
  expect(looks).toBe(1);
  expect(unread.makeRoom(100_000)).toBe(false);
  expect(unread.makeRoom(100_000 + UNREAD_MS)).toBe(true);
});
