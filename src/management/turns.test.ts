import { describe, expect, it } from 'vitest';
import { StorageUnavailable } from '../storage/repository.ts';
import { manualClock } from './management.fixture.ts';
import { createTurns } from './turns.ts';

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

function setUp(count: number) {
  const clock = manualClock();
  const inTurn = createTurns(clock, () => AT_ONCE);
  const works = Array.from({ length: count }, steered);
  const results = works.map(({ work }) => inTurn(work));
  for (const result of results) result.catch(() => undefined);
  return { clock, inTurn, works, results };
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
    const { clock, inTurn, works, results } = setUp(3);
    await works[0]?.begun;
    const later = steered();
    clock.advance(5_000);
    const lateResult = inTurn(later.work);
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
});
