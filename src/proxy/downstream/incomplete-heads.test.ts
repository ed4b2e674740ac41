import { expect, it } from 'vitest';
import { IncompleteHeads, type IncompleteClient } from './incomplete-heads.ts';

interface Client extends IncompleteClient {
  readonly name: string;
}

function setup(bytesMax: number) {
  const closed: string[] = [];
  let gaveWay = 0;
  const heads = new IncompleteHeads(bytesMax, () => (gaveWay += 1));
  const client = (name: string, isWilling = true): Client => ({
    name,
    giveWay() {
      if (!isWilling) return false;
      closed.push(name);
      heads.note(this, 0);
      return true;
    },
  });
  return { heads, closed, client, gaveWay: () => gaveWay };
}

it('closes the oldest large head when there is no room, and leaves small ones alone', () => {
  const { heads, closed, client, gaveWay } = setup(100);
  heads.note(client('small'), 2);
  heads.note(client('first'), 40);
  heads.note(client('second'), 40);
  expect(closed).toEqual([]);
  heads.note(client('third'), 40);
  expect(closed).toEqual(['first']);
  expect(heads.bytes).toBe(82);
  expect(gaveWay()).toBe(1);
});

it('counts what a client has sent once, however often it sends, and nothing once its head is complete', () => {
  const { heads, closed, client } = setup(100);
  const slow = client('slow');
  for (let bytes = 10; bytes <= 90; bytes += 10) heads.note(slow, bytes);
  expect(heads.bytes).toBe(90);
  heads.note(slow, 0);
  heads.note(slow, 0);
  expect(heads.bytes).toBe(0);
  heads.note(client('next'), 100);
  expect(closed).toEqual([]);
});

it('asks another client when one cannot give way, and the newest itself when there is no other', () => {
  const { heads, closed, client } = setup(100);
  heads.note(client('busy', false), 90);
  heads.note(client('next'), 90);
  expect(closed).toEqual([]);
  expect(heads.bytes).toBe(90);
  heads.note(client('large'), 101);
  expect(closed).toEqual(['large']);
  expect(heads.bytes).toBe(90);
});

it('looks at a bounded number of clients, however many small heads are older', () => {
  const { heads, closed, client } = setup(10_000);
  for (let count = 0; count < 5_000; count++) heads.note(client(`small ${count}`), 1);
  heads.note(client('large'), 6_000);
  expect(heads.bytes).toBeLessThanOrEqual(10_000);
  expect(closed.length).toBe(1_000);
});
