import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RETRIES_FREE, RETRY_SHARE, RetryBudgets, WINDOW_SECS } from './retry-budget.ts';

const START_MS = 1_000_000;

/** How many retries of an app are within the budget. */
function takeAll(budgets: RetryBudgets, nowMs: number, app = 'app', backend = 'backend'): number {
  let taken = 0;
  while (budgets.take(backend, app, nowMs)) taken += 1;
  return taken;
}

describe('the budget of an app that is alone at its backend', () => {
  it('lets a service with little traffic retry a few times', () => {
    expect(takeAll(new RetryBudgets(), START_MS)).toBe(RETRIES_FREE);
  });

  it('lets a fifth of the first attempts be retried', () => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 1_000; n++) budgets.noteFirst('backend', 'app', START_MS + n);
    expect(takeAll(budgets, START_MS + 1_000)).toBe(RETRIES_FREE + 200);
  });

  it('drops earned and spent retries after its window', () => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 1_000; n++) budgets.noteFirst('backend', 'app', START_MS);
    expect(takeAll(budgets, START_MS)).toBe(RETRIES_FREE + 200);
    const laterMs = START_MS + WINDOW_SECS * 1_000;
    expect(takeAll(budgets, laterMs - 1)).toBe(0);
    expect(takeAll(budgets, laterMs)).toBe(RETRIES_FREE);
  });

  it('agrees with a complete log on random events', () => {
    const steps = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 0, max: 60 }), fc.nat(20)),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const budgets = new RetryBudgets();
        const firsts: number[] = [];
        const retries: number[] = [];
        let nowMs = START_MS;
        for (const [passedMs, firstCount, askCount] of all) {
          nowMs += passedMs;
          for (let n = 0; n < firstCount; n++) {
            budgets.noteFirst('backend', 'app', nowMs);
            firsts.push(Math.floor(nowMs / 1000));
          }
          const oldest = Math.floor(nowMs / 1000) - WINDOW_SECS + 1;
          const recent = (seconds: number[]): number => seconds.filter((second) => second >= oldest).length;
          for (let n = 0; n < askCount; n++) {
            const expected = recent(retries) + 1 <= RETRIES_FREE + recent(firsts) * RETRY_SHARE;
            if (expected) retries.push(Math.floor(nowMs / 1000));
            expect(budgets.take('backend', 'app', nowMs)).toBe(expected);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('apps of one backend', () => {
  it('have the share of their own first attempts, whatever others took', () => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 100; n++) budgets.noteFirst('backend', 'quiet', START_MS);
    for (let n = 0; n < 1_000; n++) budgets.noteFirst('backend', 'failing', START_MS);
    expect(takeAll(budgets, START_MS, 'failing')).toBe(RETRIES_FREE + 200);
    expect(takeAll(budgets, START_MS, 'quiet')).toBeGreaterThanOrEqual(20);
  });

  it('leave some free places for each other, whose number does not grow with the apps', () => {
    const budgets = new RetryBudgets();
    const taken = Array.from({ length: 200 }, (_, n) => takeAll(budgets, START_MS, `app-${n}`));
    expect(taken.slice(0, 3)).toEqual([RETRIES_FREE, RETRIES_FREE / 2, 3]);
    expect(taken.reduce((sum, each) => sum + each)).toBe(2 * RETRIES_FREE);
  });

  it('have at least half of what another has, where both of them fail all the time', () => {
    const budgets = new RetryBudgets();
    const taken = { first: 0, second: 0 };
    for (let second = 0; second < 100; second++) {
      const nowMs = START_MS + second * 1_000;
      taken.first += takeAll(budgets, nowMs, 'first');
      taken.second += takeAll(budgets, nowMs, 'second');
    }
    expect(taken).toEqual({ first: 100, second: 50 });
  });
});

describe('budgets', () => {
  it('are separate per backend', () => {
    const budgets = new RetryBudgets();
    expect(takeAll(budgets, START_MS, 'app', 'a')).toBe(RETRIES_FREE);
    expect(takeAll(budgets, START_MS, 'app', 'b')).toBe(RETRIES_FREE);
    expect(takeAll(budgets, START_MS, 'app', 'a')).toBe(0);
  });

  it.each(['backends', 'apps'])('do not grow when %s change', (what) => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 20_000; n++) {
      const [backend, app] = what === 'apps' ? ['same', `app-${n}`] : [`backend-${n}`, 'same'];
      budgets.noteFirst(backend, app, START_MS + n * 100);
    }
    expect(budgets.size).toBeLessThan(2_000);
  });

  it('keep the counts of what is in use', () => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 1_000; n++) budgets.noteFirst('backend', 'busy', START_MS);
    for (let n = 0; n < 5_000; n++) budgets.noteFirst('backend', `app-${n}`, START_MS);
    for (let n = 0; n < 5_000; n++) budgets.noteFirst(`backend-${n}`, 'app', START_MS);
    expect(takeAll(budgets, START_MS, 'busy')).toBe(RETRIES_FREE + 200);
  });
});
