import { expect, it } from 'vitest';
import { RecentMap } from './recent-map.ts';

it('never has more than its bound, and always the last half of it, with the latest values', () => {
  const map = new RecentMap<number, number>(100);
  const last = new Map<number, number>();
  const wrong: string[] = [];
  let state = 1;
  for (let at = 0; at < 5_000; at += 1) {
    state = (state * 48_271) % 0x7fffffff;
    const key = state % 150;
    map.set(key, at);
    last.delete(key);
    last.set(key, at);
    if (map.size > 100) wrong.push(`${map.size} entries after ${at}`);
    for (const [known, value] of [...last].slice(-50))
      if (map.get(known) !== value) wrong.push(`${known} is ${map.get(known)} after ${at}, not ${value}`);
    // What is remembered longer has its latest value, too.
    for (const [known, value] of last)
      if ((map.get(known) ?? value) !== value) wrong.push(`${known} is outdated after ${at}`);
  }
  expect(wrong).toEqual([]);
});
