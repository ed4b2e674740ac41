import { describe, expect, it } from 'vitest';
import { currentBudget, newBudget, withBudget, type DeadlineBudget } from '../../lib/deadline-budget.ts';
import { StorageUnavailable } from '../../storage/repository.ts';
import { manualClock } from '../management.fixture.ts';
import { createWriteQueue } from './write-queue.ts';

const AT_ONCE = 2;

/** A work that tells of its beginning and ends when it is told to. */
function steered() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  let hasBegun = false;
  return {
    work: () => {
      hasBegun = true;
      begun.resolve();
      return promise;
    },
    begun: begun.promise,
    hasBegun: () => hasBegun,
    resolve,
    reject,
  };
}

function setUp(count: number, atOnce = AT_ONCE) {
  const clock = manualClock();
  const enqueue = createWriteQueue(clock, () => atOnce);
  const works = Array.from({ length: count }, steered);
  const results = works.map(({ work }) => enqueue(work));
  for (const result of results) result.catch(() => undefined);
  return { clock, enqueue, works, results };
}

describe('turns', () => {
  it('take as many as may go at once, in order of arrival; the next begins when all of one are over', async () => {
    const { works, results } = setUp(3);
    await works[1]?.begun;
    expect(works.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false]);
    works[1]?.resolve('second');
    expect(await results[1]).toBe('second');
    expect(works[2]?.hasBegun()).toBe(false);
    works[0]?.reject(new RangeError('its own fault'));
    await expect(results[0]).rejects.toThrow('its own fault');
    await works[2]?.begun;
    works[2]?.resolve('third');
    expect(await results[2]).toBe('third');
  });

  it('share a slow failure of the database with those that were in line, not with those that came later', async () => {
    const { clock, enqueue, works, results } = setUp(3);
    await works[0]?.begun;
    const later = steered();
    clock.advance(5_000);
    const lateResult = enqueue(later.work);
    works[0]?.reject(new StorageUnavailable('locked'));
    works[1]?.resolve('went through');
    await expect(results[2]).rejects.toThrow('locked');
    expect(await results[1]).toBe('went through');
    later.resolve('late');
    expect(await lateResult).toBe('late');
    expect(works[2]?.hasBegun()).toBe(false);
  });

  it('do not share a failure that was quick', async () => {
    const { works, results } = setUp(3);
    await works[0]?.begun;
    works[0]?.reject(new StorageUnavailable('gone'));
    works[1]?.resolve('');
    works[2]?.resolve('tried by itself');
    expect(await results[2]).toBe('tried by itself');
  });

  describe('of calls with one time for all waits', () => {
    /** A work that waits for so long when its turn comes; whether its call is the one that is current then. */
    function waiting(
      clock: ReturnType<typeof manualClock>,
      budget: DeadlineBudget,
      ms: number,
      fails = false,
    ) {
      return async () => {
        clock.advance(ms);
        (currentBudget() as DeadlineBudget).spentMs += ms;
        if (fails) throw new StorageUnavailable('frozen');
        return currentBudget() === budget;
      };
    }

    it.each([
      { what: 'a failure', ms: 300, fails: true, shared: [200, 200] },
      { what: 'a slow turn', ms: 700, fails: false, shared: [600, 600] },
      { what: 'a turn that is only busy', ms: 300, fails: false, shared: [0, 0] },
    ])('$what counts for those in line, from when they came: $shared', async ({ ms, fails, shared }) => {
      const { clock, enqueue } = setUp(0, 1);
      const calls = [newBudget(), newBudget(), newBudget()] as const;
      const gate = steered();
      const first = withBudget(calls[0], () =>
        enqueue(async () => {
          await gate.work();
          return waiting(clock, calls[0], ms - 100, fails)();
        }),
      );
      await gate.begun;
      clock.advance(100);
      calls[0].spentMs += 100;
      const rest = [calls[1], calls[2]].map((budget) =>
        withBudget(budget, () => enqueue(waiting(clock, budget, 0))),
      );
      gate.resolve('');
      expect(await first.catch((error: unknown) => String(error))).toEqual(
        fails ? 'StorageUnavailable: frozen' : true,
      );
      expect(await Promise.all(rest)).toEqual([true, true]);
      expect(calls.slice(1).map(({ spentMs }) => spentMs)).toEqual(shared);
    });
  });
});
