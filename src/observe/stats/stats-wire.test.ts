/** Answers between gateways: what arrives is what was counted, and nothing else gets in. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LATENCY, REQUESTS, StatsColumns } from './stats-columns.ts';
import { StatsHistory } from './stats-history.ts';
import { addedFindings, answerQuestion, totalOf, type StatsQuestion } from './stats-question.ts';
import { gridOf } from './stats-window.ts';
import {
  alignedTo,
  answerText,
  parseAnswer,
  parseQuestion,
  questionText,
  wireQuestion,
} from './stats-wire.ts';

const columns = new StatsColumns([['no_route', true]]);
const START_MS = 1_767_225_600_000;
const SECS = 90;

type Requests = readonly { readonly second: number; readonly bucket: number }[];

/** The history of a gateway with these requests, each in a bucket of its duration. */
function historyOf(requests: Requests): StatsHistory {
  let nowMs = START_MS;
  const history = new StatsHistory(columns, 16 * 1_048_576, () => nowMs);
  const place = { kind: 'app', appId: 'a', app: 'shop' } as const;
  for (let second = 0; second < SECS; second++) {
    const unixSecs = START_MS / 1_000 + second;
    nowMs = unixSecs * 1_000;
    for (const { bucket } of requests.filter((each) => each.second === second)) {
      const values = Float64Array.of(2, REQUESTS, 1, LATENCY + bucket, 1);
      history.add(0, { unixSecs, connections: 0, inFlight: 0, places: [place], values });
    }
    history.tick();
  }
  nowMs += 10_000;
  history.tick();
  return history;
}

const requestsArb = fc.array(fc.record({ second: fc.nat(SECS - 1), bucket: fc.nat(100) }), { maxLength: 30 });

it('two gateways added up are one gateway with the traffic of both', async () => {
  await fc.assert(
    fc.asyncProperty(requestsArb, requestsArb, fc.constantFrom(1, 7, 60), async (own, others, stepSecs) => {
      const [one, two, both] = [historyOf(own), historyOf(others), historyOf([...own, ...others])];
      const grid = gridOf(one, '15m', stepSecs);
      const question: StatsQuestion = { grid, subject: { kind: 'gateway' }, rows: { kind: 'app', max: 10 } };
      const asked = parseQuestion(questionText(wireQuestion(question)));
      const answer = await parseAnswer(await answerText(two, asked!, 'two'), columns);
      expect(answer?.name).toBe('two');
      const added = addedFindings([await answerQuestion(one, question), alignedTo(grid, answer!)], grid);
      const expected = await answerQuestion(both, question);
      expect(added.steps).toEqual(expected.steps);
      expect(totalOf(added.steps, columns.length)).toEqual(totalOf(expected.steps, columns.length));
      expect(added.rows.map(({ key, requests }) => [key, requests])).toEqual(
        expected.rows.map(({ key, requests }) => [key, requests]),
      );
    }),
    { numRuns: 40 },
  );
});

it('a message that is neither a question nor an answer is refused', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.json(), fc.base64String()), async (text) => {
      expect(parseQuestion(text)).toBeUndefined();
      expect(parseQuestion(Buffer.from(text).toString('base64url'))).toBeUndefined();
      expect(await parseAnswer(text, columns)).toBeUndefined();
    }),
  );
  const good = { window: '15m', stepSecs: 1, latest: true, subject: { kind: 'gateway' } };
  const parsed = (change: object): unknown =>
    parseQuestion(Buffer.from(JSON.stringify({ ...good, ...change })).toString('base64url'));
  expect(parsed({})).toEqual(good);
  for (const change of [
    { window: '1h' },
    { stepSecs: 0 },
    { stepSecs: 1.5 },
    { stepSecs: 901 },
    { window: '24h', stepSecs: 61 },
    { subject: { kind: 'constructor', key: 'a' } },
    { subject: { kind: 'app' } },
    { rows: { kind: 'app', max: 100_000 } },
  ])
    expect([change, parsed(change)]).toEqual([change, undefined]);
});

it('an answer from a program with other columns is refused', async () => {
  const question = { window: '15m', stepSecs: 1, latest: true, subject: { kind: 'gateway' } } as const;
  const text = await answerText(historyOf([]), question, 'other');
  expect(await parseAnswer(text, new StatsColumns([['other', true]]))).toBeUndefined();
});
