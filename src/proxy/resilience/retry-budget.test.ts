import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FREE_APPS_MAX,
  RETRIES_FREE,
  RETRY_SHARE,
  RetryBudget,
  RetryBudgets,
  WINDOW_SECS,
} from './retry-budget.ts';

const START_MS = 1_000_000;

function take(budget: RetryBudget, nowMs: number): boolean {
  const isAllowed = budget.allows(nowMs);
  if (isAllowed) budget.noteRetry(nowMs);
  return isAllowed;
}

function takeAll(budget: RetryBudget, nowMs: number): number {
  let taken = 0;
  while (take(budget, nowMs)) taken += 1;
  return taken;
}

function takenBy(budgets: RetryBudgets, app: string, backend = 'a'): number {
  let taken = 0;
  while (budgets.take(backend, app, START_MS)) taken += 1;
  return taken;
}

describe('RetryBudget', () => {
  it('lets a service with little traffic retry a few times', () => {
    expect(takeAll(new RetryBudget(START_MS), START_MS)).toBe(RETRIES_FREE);
  });

  it('lets a fifth of the first attempts be retried', () => {
    const budget = new RetryBudget(START_MS);
    for (let n = 0; n < 1_000; n++) budget.noteFirst(START_MS + n);
    expect(takeAll(budget, START_MS + 1_000)).toBe(RETRIES_FREE + 200);
  });

  it('drops earned and spent retries after its window', () => {
    const budget = new RetryBudget(START_MS);
    for (let n = 0; n < 1_000; n++) budget.noteFirst(START_MS);
    expect(takeAll(budget, START_MS)).toBe(RETRIES_FREE + 200);
    const laterMs = START_MS + WINDOW_SECS * 1_000;
    expect(budget.isForgotten(laterMs - 1)).toBe(false);
    expect(budget.isForgotten(laterMs)).toBe(true);
    expect(take(budget, laterMs - 1_000)).toBe(false);
    expect(takeAll(budget, laterMs)).toBe(RETRIES_FREE);
  });

  it('agrees with a complete log on random events', () => {
    const steps = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 0, max: 60 }), fc.nat(20)),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const budget = new RetryBudget(START_MS);
        const firsts: number[] = [];
        const retries: number[] = [];
        let nowMs = START_MS;
        for (const [passedMs, firstCount, askCount] of all) {
          nowMs += passedMs;
          for (let n = 0; n < firstCount; n++) {
            budget.noteFirst(nowMs);
            firsts.push(Math.floor(nowMs / 1000));
          }
          const oldest = Math.floor(nowMs / 1000) - WINDOW_SECS + 1;
          const recent = (seconds: number[]): number => seconds.filter((second) => second >= oldest).length;
          for (let n = 0; n < askCount; n++) {
            const expected = recent(retries) + 1 <= RETRIES_FREE + recent(firsts) * RETRY_SHARE;
            if (expected) retries.push(Math.floor(nowMs / 1000));
            expect(take(budget, nowMs)).toBe(expected);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('RetryBudgets', () => {
  it('are separate per backend', () => {
    const budgets = new RetryBudgets();
    expect(takenBy(budgets, 'app', 'a')).toBe(RETRIES_FREE);
    expect(takenBy(budgets, 'app', 'b')).toBe(RETRIES_FREE);
    expect(takenBy(budgets, 'app', 'a')).toBe(0);
  });

  it('leave an app its retries when those of another one at the same backend are used up', () => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 1_000; n++) budgets.noteFirst('a', 'failing', START_MS);
    for (let n = 0; n < 50; n++) budgets.noteFirst('a', 'well', START_MS);
    expect(takenBy(budgets, 'failing')).toBe(RETRIES_FREE + 200);
    expect(takenBy(budgets, 'well')).toBe(RETRIES_FREE + 10);
  });

  it('do not multiply an outage of a backend with many apps', () => {
    const budgets = new RetryBudgets();
    const apps = Array.from({ length: 500 }, (_, number) => `app-${number}`);
    for (const app of apps) budgets.noteFirst('a', app, START_MS);
    const taken = apps.reduce((sum, app) => sum + takenBy(budgets, app), 0);
    expect(taken).toBe(RETRIES_FREE * FREE_APPS_MAX + apps.length * RETRY_SHARE);
  });

  it('do not grow when backends and apps change', () => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 20_000; n++) {
      budgets.noteFirst(`backend-${n}`, 'app', START_MS + n * 100);
      budgets.noteFirst('backend', `app-${n}`, START_MS + n * 100);
    }
    expect(budgets.size).toBeLessThan(2_000);
  });

  it('keep the counts of backends in use', () => {
    const budgets = new RetryBudgets();
    for (let n = 0; n < 1_000; n++) budgets.noteFirst('busy', 'app', START_MS);
    for (let n = 0; n < 5_000; n++) budgets.noteFirst(`backend-${n}`, 'app', START_MS);
    expect(takenBy(budgets, 'app', 'busy')).toBe(RETRIES_FREE + 200);
  });
});
