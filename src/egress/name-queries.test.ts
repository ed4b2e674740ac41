import type { LookupAddress } from 'node:dns';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NameQueries, QUERIES_AT_ONCE, QUERIES_MAX, SLOW_MS, SLOW_QUERIES_MAX } from './name-queries.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ADDRESS: LookupAddress = { address: '192.0.2.1', family: 4 };
const away = Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' });

/** A system that answers names with "quick" in them at once, and others when the test says so. */
function system() {
  const asked: string[] = [];
  const open = new Map<string, PromiseWithResolvers<readonly LookupAddress[]>>();
  let nowMs = 0;
  const queries = new NameQueries({
    resolve: (host) => {
      asked.push(host);
      if (host.includes('quick')) return Promise.resolve([ADDRESS]);
      const query = Promise.withResolvers<readonly LookupAddress[]>();
      open.set(host, query);
      return query.promise;
    },
    monotonicMs: () => nowMs,
  });
  const ask = (host: string): Promise<string> =>
    queries.ask(host).then(
      ([first]) => first?.address ?? '',
      (error: Error & { code: string }) => error.code,
    );
  const passMs = async (ms: number): Promise<void> => {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  const fail = async (...hosts: readonly string[]): Promise<void> => {
    for (const host of hosts) open.get(host)?.reject(away);
    await vi.advanceTimersByTimeAsync(0);
  };
  const takeAsked = (): string[] => asked.splice(0);
  return { ask, passMs, fail, takeAsked };
}

const named = (count: number, what: string): string[] =>
  Array.from({ length: count }, (_, index) => `${what}${index}`);

it('asks once for all that want the same name at the same time', async () => {
  const { ask, fail, takeAsked } = system();
  const found = [ask('a.dead'), ask('a.dead')];
  await fail('a.dead');
  expect(await Promise.all(found)).toEqual(['EAI_AGAIN', 'EAI_AGAIN']);
  expect(takeAsked()).toEqual(['a.dead']);
});

describe('a hundred names that were never asked for and get no answer', () => {
  it('delay another name by no more than the time of a name that is not slow', async () => {
    const { ask, passMs, takeAsked } = system();
    for (const host of named(100, 'dead')) void ask(host);
    expect(takeAsked()).toHaveLength(QUERIES_AT_ONCE);
    let answered = 0;
    for (const host of named(4, 'quick')) {
      void ask(host).then(() => (answered += 1));
      await passMs(SLOW_MS + 1);
    }
    expect(answered).toBe(4);
  });

  it('do not hold back a name that was asked for before them and is asked for again', async () => {
    const { ask, passMs, takeAsked } = system();
    for (const host of named(QUERIES_AT_ONCE, 'dead')) void ask(host);
    void ask('quick');
    for (const host of named(100, 'other')) void ask(host);
    takeAsked();
    void ask('quick');
    await passMs(SLOW_MS + 1);
    expect(takeAsked()[0]).toBe('quick');
  });

  it('have a bounded number of queries under way, and each is asked for in the end', async () => {
    const { ask, passMs, fail, takeAsked } = system();
    const dead = named(100, 'dead');
    for (const host of dead) void ask(host);
    await passMs(100 * SLOW_MS);
    const all: string[] = [];
    let asked = takeAsked();
    expect(asked).toHaveLength(QUERIES_MAX);
    while (asked.length > 0) {
      all.push(...asked);
      await fail(...asked);
      await passMs(SLOW_MS + 1);
      asked = takeAsked();
    }
    expect(new Set(all)).toEqual(new Set(dead));
  });

  it('leave the places to others once they have failed', async () => {
    const { ask, passMs, fail, takeAsked } = system();
    const dead = named(QUERIES_AT_ONCE, 'dead');
    for (const host of dead) void ask(host);
    await passMs(SLOW_MS + 1);
    await fail(...dead);
    takeAsked();
    for (const host of dead) void ask(host);
    expect(takeAsked()).toHaveLength(SLOW_QUERIES_MAX);
    const others = named(QUERIES_AT_ONCE, 'other');
    for (const host of others) void ask(host);
    expect(takeAsked()).toEqual(others);
  });
});

describe('names that are slow', () => {
  const SLOW = ['a.slow', 'b.slow', 'c.slow', 'd.slow'];

  /** Each has had one query that failed late. */
  async function startSlow() {
    const setup = system();
    const { ask, passMs, fail, takeAsked } = setup;
    for (const host of SLOW) void ask(host);
    await passMs(SLOW_MS + 1);
    await fail(...SLOW);
    takeAsked();
    return setup;
  }

  it('are asked for a few at a time, and no other name waits for them', async () => {
    const { ask, fail, takeAsked } = await startSlow();
    for (const host of SLOW) void ask(host);
    expect(await ask('quick')).toBe('192.0.2.1');
    expect(takeAsked()).toEqual(['a.slow', 'b.slow', 'quick']);
    await fail('a.slow');
    expect(takeAsked()).toEqual(['c.slow']);
  });

  it('go first if they were slow less often, and at once when they are no longer slow', async () => {
    const { ask, passMs, fail, takeAsked } = await startSlow();
    void ask('a.slow');
    void ask('e.slow');
    await passMs(SLOW_MS + 1);
    await fail('a.slow', 'e.slow');
    takeAsked();
    for (const host of ['c.slow', 'd.slow', 'a.slow', 'e.slow']) void ask(host);
    await fail('c.slow');
    expect(takeAsked()).toEqual(['c.slow', 'd.slow', 'e.slow']);
    // c was not slow this time.
    void ask('c.slow');
    expect(takeAsked()).toEqual(['c.slow']);
  });
});

it('no other code asks the system for addresses', () => {
  const root = join(import.meta.dirname, '..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  const asking = files.filter((file) =>
    /import \{[^}]*\blookup\b[^}]*\} from 'node:dns/.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(asking).toEqual([join('egress', 'name-queries.ts')]);
});
