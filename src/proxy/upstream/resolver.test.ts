import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { UPSTREAM_AGE_MAX_MS } from '../options.ts';
import { SLOW_MS, SLOW_QUERIES_MAX } from './lookup-line.ts';
import { ADDRESS_USE_MS, createLookup, type ResolverOptions } from './resolver.ts';

/** A resolver that the test answers, in the order of the queries, and a clock that the test sets. */
function resolver(onFailure: ResolverOptions['onFailure'] = () => undefined) {
  const questions: PromiseWithResolvers<readonly LookupAddress[]>[] = [];
  const asked: string[] = [];
  let nowMs = 0;
  const lookup = createLookup({
    resolve: (host) => {
      const question = Promise.withResolvers<readonly LookupAddress[]>();
      questions.push(question);
      asked.push(host);
      return question.promise;
    },
    monotonicMs: () => nowMs,
    onFailure,
  });
  const find = (host = 'backend.example', family: 0 | 4 | 6 = 0): Promise<string> =>
    new Promise((resolve) => {
      lookup(host, { all: true, family }, (error, addresses) => {
        resolve(
          error === null
            ? (addresses as LookupAddress[]).map(({ address }) => address).join()
            : `${error.code}`,
        );
      });
    });
  return { questions, asked, find, passMs: (ms: number) => void (nowMs += ms) };
}

const v4 = (address: string): LookupAddress => ({ address, family: 4 });
const away = Object.assign(new Error('the resolver is away'), { code: 'EAI_AGAIN' });

describe('the addresses of a backend', () => {
  it('are queried once for simultaneous connections', async () => {
    const { questions, find } = resolver();
    const found = Promise.all(Array.from({ length: 100 }, () => find()));
    questions[0]?.resolve([v4('192.0.2.1'), v4('192.0.2.2')]);
    expect(new Set(await found)).toEqual(new Set(['192.0.2.1,192.0.2.2']));
    await find();
    expect(questions).toHaveLength(1);
  });

  it('are queried again after a few seconds without a wait', async () => {
    const { questions, find, passMs } = resolver();
    const first = find();
    questions[0]?.resolve([v4('192.0.2.1')]);
    await first;
    passMs(6_000);
    expect(await find()).toBe('192.0.2.1');
    expect(questions).toHaveLength(2);
    questions[1]?.resolve([v4('192.0.2.9')]);
    await questions[1]?.promise;
    expect(await find()).toBe('192.0.2.9');
  });

  it('that are old are not used without a query: a change takes effect at once', async () => {
    const { questions, find, passMs } = resolver();
    const first = find();
    questions[0]?.resolve([v4('192.0.2.1')]);
    await first;
    passMs(20_000);
    const second = find();
    questions[1]?.resolve([v4('192.0.2.9')]);
    expect(await second).toBe('192.0.2.9');
  });

  it('are unused 30 seconds after a change, even with open connections', async () => {
    expect(ADDRESS_USE_MS + UPSTREAM_AGE_MAX_MS).toBeLessThanOrEqual(30_000);
    const { questions, find, passMs } = resolver();
    const first = find();
    questions[0]?.resolve([v4('192.0.2.1')]);
    await first;
    passMs(ADDRESS_USE_MS);
    const second = find();
    questions[1]?.resolve([v4('192.0.2.9')]);
    expect(await second).toBe('192.0.2.9');
  });

  it('stay in use while the resolver fails or hangs, however old they are', async () => {
    const failed: string[] = [];
    const { questions, find, passMs } = resolver((host) => failed.push(host));
    const first = find();
    questions[0]?.resolve([v4('192.0.2.1')]);
    await first;
    passMs(3_600_000);
    const failing = find();
    questions[1]?.reject(away);
    expect(await failing).toBe('192.0.2.1');
    expect(failed).toEqual(['backend.example']);
    // Not queried again at once.
    expect(await find()).toBe('192.0.2.1');
    expect(questions).toHaveLength(2);
    passMs(6_000);
    // This query is never answered.
    expect(await find()).toBe('192.0.2.1');
    expect(questions).toHaveLength(3);
  });

  it('that were never known are an error, and the next connection queries again', async () => {
    const { questions, find } = resolver();
    const first = find();
    questions[0]?.reject(away);
    expect(await first).toBe('EAI_AGAIN');
    const second = find();
    questions[1]?.resolve([v4('192.0.2.1')]);
    expect(await second).toBe('192.0.2.1');
  });

  it('of the wrong family, or missing, are an error', async () => {
    const { questions, find } = resolver();
    const wrong = find('backend.example', 6);
    questions[0]?.resolve([v4('192.0.2.1')]);
    expect(await wrong).toBe('ENOTFOUND');
    const none = find('other.example');
    questions[1]?.resolve([]);
    expect(await none).toBe('ENOTFOUND');
  });

  it('are dropped when too many names are known', async () => {
    const { questions, find } = resolver();
    for (let index = 0; index <= 10_000; index++) {
      const found = find(`b${index}.example`);
      questions[index]?.resolve([v4('192.0.2.1')]);
      await found;
    }
    const again = find('b10000.example');
    expect(await again).toBe('192.0.2.1');
    expect(questions).toHaveLength(10_001);
    const forgotten = find('b0.example');
    expect(questions).toHaveLength(10_002);
    questions[10_001]?.resolve([v4('192.0.2.1')]);
    await forgotten;
  });
});

describe('names that are slow to be resolved', () => {
  const SLOW = ['a.slow', 'b.slow', 'c.slow', 'd.slow'];

  /** Each has had one query that failed late. */
  async function startSlow() {
    const setup = resolver();
    const { questions, asked, find, passMs } = setup;
    const failed = SLOW.map((host) => find(host));
    passMs(SLOW_MS + 1);
    for (const question of questions.splice(0)) question.reject(away);
    await Promise.all(failed);
    asked.length = 0;
    return setup;
  }
  const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

  it('are asked for a few at a time, and no other name waits for them', async () => {
    const { questions, asked, find } = await startSlow();
    const found = SLOW.map((host) => find(host));
    await settle();
    expect(asked).toEqual(SLOW.slice(0, SLOW_QUERIES_MAX));
    const other = find('quick.example');
    questions.at(-1)?.resolve([v4('192.0.2.1')]);
    expect(await other).toBe('192.0.2.1');
    questions[0]?.reject(away);
    await settle();
    expect(asked).toEqual(['a.slow', 'b.slow', 'quick.example', 'c.slow']);
    for (let index = 1; index < questions.length; index++) questions[index]?.reject(away);
    await settle();
    questions.at(-1)?.resolve([v4('192.0.2.4')]);
    expect(await Promise.all(found)).toEqual(['EAI_AGAIN', 'EAI_AGAIN', 'EAI_AGAIN', '192.0.2.4']);
  });

  it('go first if they were slow less often, and at once when they are slow no more', async () => {
    const { questions, asked, find, passMs } = await startSlow();
    const hanging = ['a.slow', 'b.slow'].map((host) => find(host));
    passMs(SLOW_MS + 1);
    for (const question of questions.splice(0)) question.reject(away);
    await Promise.all(hanging);
    // c and d take the places; a was slow twice, e once.
    const late = find('e.slow');
    passMs(SLOW_MS + 1);
    for (const question of questions.splice(0)) question.reject(away);
    await late;
    asked.length = 0;
    void ['c.slow', 'd.slow', 'a.slow', 'e.slow'].map((host) => find(host));
    await settle();
    questions[0]?.resolve([v4('192.0.2.3')]);
    await settle();
    expect(asked).toEqual(['c.slow', 'd.slow', 'e.slow']);
    passMs(ADDRESS_USE_MS);
    void find('c.slow');
    await settle();
    expect(asked.at(-1)).toBe('c.slow');
  });
});
