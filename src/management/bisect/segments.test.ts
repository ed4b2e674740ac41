import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findSegments } from './segments.ts';

async function segmentsOf(history: readonly string[], asksMax = Infinity) {
  let asked = 0;
  const seen = new Set<number>();
  const found = await findSegments({
    candidates: history.map((_, version) => version),
    to: history.length - 1,
    ask: async (version) => {
      asked += 1;
      expect(seen.has(version)).toBe(false);
      seen.add(version);
      return history[version] as string;
    },
    keyOf: (answer) => answer,
    mayAsk: () => asked < asksMax,
  });
  return { ...found, asked };
}

it('finds every change of any history, and leaves no gap', async () => {
  const histories = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const { segments, isComplete } = await segmentsOf(history);
      expect(isComplete).toBe(true);
      const spread = segments.flatMap(({ from, to, answer }) =>
        Array.from({ length: to - from + 1 }, () => answer),
      );
      expect(spread).toEqual(history);
      expect(segments.every(({ isExact }) => isExact)).toBe(true);
      for (const [index, { answer }] of segments.entries())
        if (index > 0) expect(answer).not.toBe(segments[index - 1]?.answer);
    }),
  );
});

it('locates differences first when few versions may be asked, and says that it is not complete', async () => {
  const history = Array.from({ length: 1000 }, (_, version) => (version < 700 ? 'old' : 'new'));
  const { segments, isComplete, asked } = await segmentsOf(history, 14);
  expect(asked).toBe(14);
  expect(isComplete).toBe(false);
  expect(segments).toEqual([
    { from: 0, to: 699, answer: 'old', isExact: true },
    { from: 700, to: 999, answer: 'new', isExact: true },
  ]);
  const few = await segmentsOf(history, 4);
  expect(few.segments.at(-1)).toMatchObject({ answer: 'new', isExact: false });
});
