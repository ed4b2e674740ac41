import { describe, expect, it } from 'vitest';
import { TraceShares } from './trace-shares.ts';

/** The kept traces of each app: `flood` has a hundred for each of the others. */
function kept(isFull: boolean, apps: readonly string[], seconds = 5): Map<string, number> {
  const shares = new TraceShares(() => isFull);
  const counts = new Map<string, number>();
  const count = (app: string, nowMs: number): void => {
    if (shares.mayKeep(app, nowMs)) counts.set(app, (counts.get(app) ?? 0) + 1);
  };
  for (let nowMs = 1_000; nowMs < (seconds + 1) * 1_000; nowMs += 100) {
    for (let index = 0; index < 100; index++) count('flood', nowMs);
    for (const app of apps) count(app, nowMs);
  }
  return counts;
}

describe('while little memory is left', () => {
  it('all traces of the other apps are kept, and next to none of the app that has most', () => {
    const counts = kept(true, ['a', 'b']);
    expect([counts.get('a'), counts.get('b')]).toEqual([50, 50]);
    // Before the other apps were seen.
    expect(counts.get('flood')).toBeLessThan(150);
  });

  it('those of an app are kept that is alone', () => {
    expect(kept(true, []).get('flood')).toBe(5_000);
  });

  it('an app that has no more traces leaves its share to the others', () => {
    const shares = new TraceShares(() => true);
    expect(shares.mayKeep('gone', 0)).toBe(true);
    for (let second = 1; second < 10; second++) shares.mayKeep('flood', second * 1_000);
    expect(Array.from({ length: 100 }, () => shares.mayKeep('flood', 10_000)).every(Boolean)).toBe(true);
  });
});

it('all traces are kept while there is memory', () => {
  expect(kept(false, ['a'])).toEqual(
    new Map([
      ['flood', 5_000],
      ['a', 50],
    ]),
  );
});
