import { expect, it } from 'vitest';
import { createExplainSide, type ExplainWorkerParts } from './worker-side.ts';
import type { ExplainedMessage } from './messages.ts';

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Explains at once. */
function explainSide() {
  const answers: ExplainedMessage[] = [];
  const parts = { explain: () => Promise.resolve({ outcome: 'denied' }) } as unknown as ExplainWorkerParts;
  const receive = createExplainSide(parts, (answer) => answers.push(answer));
  const ask = (id: number): void => receive({ type: 'explain', id, input: { method: 'GET', url: '/' } });
  return { answers, ask };
}

it('explains one request in each turn of the event loop, in their order', async () => {
  const { answers, ask } = explainSide();
  for (let id = 1; id <= 5; id++) ask(id);
  const counts: number[] = [];
  for (let turns = 0; turns < 7; turns++) {
    await turn();
    counts.push(answers.length);
  }
  // The turn of the test may come before or after that of the answer.
  expect(counts.every((count, index) => count - (counts[index - 1] ?? 0) <= 1)).toBe(true);
  expect(answers.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  ask(6);
  await turn();
  await turn();
  expect(answers).toHaveLength(6);
});

it('answers requests for which there is no room without an explanation', async () => {
  const { answers, ask } = explainSide();
  for (let id = 1; id <= 1_001; id++) ask(id);
  expect(answers).toEqual([{ type: 'explained', id: 1_001, explanation: undefined, error: undefined }]);
});
