import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstBad } from './search.ts';

async function search(history: readonly boolean[], good?: number) {
  const asked: number[] = [];
  const bad = history.length - 1;
  const found = await firstBad({ oldest: 0, good, bad }, async (version) => {
    asked.push(version);
    return history[version] === true;
  });
  return { found, asked };
}

describe('firstBad', () => {
  it.each([1, 2, 3, 17, 29])('finds version %i of 30, with few questions', async (since) => {
    const history = Array.from({ length: 30 }, (_, version) => version >= since);
    for (const good of [undefined, 0]) {
      const { found, asked } = await search(history, good);
      expect(found).toBe(since);
      expect(asked.length).toBeLessThanOrEqual(10);
    }
  });

  it('finds nothing when every version is bad', async () => {
    const { found, asked } = await search(Array.from({ length: 30 }, () => true));
    expect(found).toBeUndefined();
    expect(asked.at(-1)).toBe(0);
  });

  it('finds a version that is bad after one that is not, in any history, and asks no version twice', async () => {
    const histories = fc.array(fc.boolean(), { minLength: 1, maxLength: 500 });
    await fc.assert(
      fc.asyncProperty(histories, fc.boolean(), async (earlier, isGiven) => {
        const history = [...earlier, true];
        const good = history.indexOf(false);
        const { found, asked } = await search(history, isGiven && good >= 0 ? good : undefined);
        if (found !== undefined) {
          expect(history[found]).toBe(true);
          expect(history[found - 1]).toBe(false);
        } else expect(isGiven && good >= 0).toBe(false);
        expect(new Set(asked).size).toBe(asked.length);
        expect(asked.length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(history.length)) + 2);
      }),
    );
  });
});
