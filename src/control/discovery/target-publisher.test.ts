/** Found targets on their way to the workers: one message at a time, bounded, and no revision forgotten. */
import { expect, it } from 'vitest';
import { TargetPublisher } from './target-publisher.ts';

const NO_LOG = { error: () => undefined };

it('joins what comes while a message is under way, and sends no more than 200 revisions at once', async () => {
  const sent: (readonly [string, readonly string[]])[][] = [];
  const open: (() => void)[] = [];
  let underWay = 0;
  let most = 0;
  const publisher = new TargetPublisher(async (found) => {
    sent.push([...found]);
    most = Math.max(most, ++underWay);
    await new Promise<void>((done) => open.push(done));
    underWay -= 1;
  }, NO_LOG);
  const settle = async (): Promise<void> => {
    open.shift()?.();
    await new Promise((done) => setImmediate(done));
  };
  publisher.add(new Map([['a', ['pool-1']]]));
  publisher.add(
    new Map([
      ['a', ['pool-2']],
      ['b', []],
    ]),
  );
  publisher.add(new Map([['a', ['pool-3']]]));
  expect(sent).toEqual([[['a', ['pool-1']]]]);
  await settle();
  expect(sent[1]).toEqual([
    ['a', ['pool-2', 'pool-3']],
    ['b', []],
  ]);
  const many = Array.from({ length: 450 }, (_none, index): [string, string[]] => [`r${index}`, []]);
  publisher.add(new Map(many));
  while (open.length > 0) await settle();
  expect(sent.slice(2).map((message) => message.length)).toEqual([200, 200, 50]);
  expect(new Set(sent.slice(2).flatMap((message) => message.map(([id]) => id))).size).toBe(450);
  expect(most).toBe(1);
  publisher.add(new Map([['c', []]]));
  expect(sent.at(-1)).toEqual([['c', []]]);
});

it('a message that fails is sent again, with what came since, and logged once', async () => {
  const sent: string[][] = [];
  const lines: unknown[] = [];
  let works = false;
  const publish = async (found: ReadonlyMap<string, readonly string[]>): Promise<void> => {
    sent.push([...found].map(([id, pools]) => `${id} ${pools.join(' ')}`));
    if (!works) throw new TypeError('a defect');
  };
  const publisher = new TargetPublisher(publish, {
    error: (_fields: unknown, text?: string) => void lines.push(text),
  });
  publisher.add(new Map([['a', ['pool-1']]]));
  await new Promise((done) => setImmediate(done));
  publisher.add(new Map([['b', ['pool-2']]]));
  await new Promise((done) => setImmediate(done));
  works = true;
  await expect.poll(() => sent.length, { timeout: 5_000 }).toBe(3);
  expect(sent).toEqual([['a pool-1'], ['a pool-1', 'b pool-2'], ['a pool-1', 'b pool-2']]);
  expect(lines).toEqual(['cannot send discovered targets to the workers']);
  publisher.add(new Map([['c', []]]));
  expect(sent.at(-1)).toEqual(['c ']);
});
