import { expect, it } from 'vitest';
import { RecentExchanges } from './recent-exchanges.ts';

it('keeps the latest, and finds the latest of a name', () => {
  const recent = new RecentExchanges<{ id: number; at: number }>(4, 100);
  for (let at = 0; at < 10; at++) recent.add('a', { id: at % 5, at });
  const found = [0, 1, 2, 3, 4].map((wanted) => recent.find(({ id }) => id === wanted)?.at);
  expect(found).toEqual([undefined, 6, 7, 8, 9]);
  recent.add('b', { id: 3, at: 10 });
  expect(recent.find(({ id }) => id === 3)?.at).toBe(10);
});

it('many exchanges of one app do not displace those of another, and leave room in each second', () => {
  const recent = new RecentExchanges<string>(100, 50);
  expect(recent.admits('quiet', 0)).toBe(true);
  recent.add('quiet', 'wanted');
  let second = 0;
  for (let count = 0; count < 10_000; count++) {
    second = Math.floor(count / 1_000);
    const app = count % 3 === 0 ? '' : 'loud';
    if (recent.admits(app, second)) recent.add(app, `${app} ${count}`);
  }
  expect(recent.find((record) => record === 'wanted')).toBe('wanted');
  expect([recent.admits('loud', second), recent.admits('quiet', second)]).toEqual([false, true]);
});
