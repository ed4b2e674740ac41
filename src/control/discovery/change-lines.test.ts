import { expect, it } from 'vitest';
import { ChangeLines, LINE_MS, LINES_MAX } from './change-lines.ts';

it('has a line for each of a few changes', () => {
  const lines = new ChangeLines<number>(0);
  const written = Array.from({ length: LINES_MAX }, (_, change) => {
    lines.add(change);
    return lines.take(change);
  });
  expect(written).toEqual(written.map((_, change) => ({ line: change, changes: 1 })));
  expect(lines.take(LINES_MAX)).toBeUndefined();
});

it('has one line a minute of a source that changes all the time, and the last change in the end', () => {
  const lines = new ChangeLines<number>(0);
  const written = [];
  const hours = 3;
  const changes = (hours * 3_600_000) / 5_000;
  for (let change = 0; change < changes; change += 1) {
    lines.add(change);
    written.push(lines.take(change * 5_000));
  }
  written.push(lines.take(changes * 5_000 + LINE_MS));
  const taken = written.filter((each) => each !== undefined);
  expect(taken.length).toBeLessThanOrEqual(LINES_MAX + hours * 60 + 2);
  expect(taken.at(-1)?.line).toBe(changes - 1);
  expect(taken.reduce((sum, each) => sum + each.changes, 0)).toBe(changes);
});
