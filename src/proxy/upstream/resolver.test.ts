import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { UPSTREAM_AGE_MAX_MS } from '../options.ts';
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
