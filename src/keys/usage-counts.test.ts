/**
 * The path of usage counts from the token to the database: a worker that caches keys, counts their uses and sends the
 * counts, and the code that adds them up, compared with maps. Keys change throughout, and the day changes.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keyRecord } from '../../test/support/data/config-records.ts';
import { uuidv7 } from '../lib/ids.ts';
import { DAY_MS, utcDate } from '../model/key-usage.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { API_KEY_PREFIX, createToken, tokenHash } from '../model/token.ts';
import { callerOfKey } from '../policy/parts/auth/key-caller.ts';
import { KeyCache } from '../policy/parts/auth/key-cache.ts';
import { KeyTable } from './key-table.ts';
import { presentedKey } from './presented-key.ts';
import { UsageCounter, type KeyUsageBatch } from './usage-counter.ts';
import { PendingUsage } from './pending-usage.ts';

const NOON_MS = Date.parse('2026-02-01T12:00:00Z');
const OUTCOMES = ['allowed', 'limited', 'denied'] as const;
const NAMES = ['office', 'büro', ' till', '100%'];
const IDS = Array.from({ length: 60 }, (_, index) =>
  index % 9 === 4 ? `k${index}` : uuidv7(NOON_MS + index),
);
const TOKENS = Array.from({ length: 600 }, () => createToken(API_KEY_PREFIX, randomBytes(32)));

const step = fc.record({
  act: fc.oneof(
    { weight: 8, arbitrary: fc.constant('use') },
    fc.constantFrom(
      'rotate',
      'rename',
      'delete',
      'create',
      'refuse',
      'tick',
      'send',
      'write',
      'next day',
      'previous day',
    ),
  ),
  key: fc.nat({ max: IDS.length - 1 }),
  number: fc.nat({ max: 1_000 }),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Allowed, limited, denied and the last use, by key and day. */
class Sums {
  readonly all = new Map<string, number[]>();

  add(keyId: string, date: string, counts: readonly number[], lastUsedMs: number): void {
    const [allowed = 0, limited = 0, denied = 0, last = 0] = this.all.get(`${keyId} ${date}`) ?? [];
    const [more = 0, moreLimited = 0, moreDenied = 0] = counts;
    const sums = [allowed + more, limited + moreLimited, denied + moreDenied, Math.max(last, lastUsedMs)];
    this.all.set(`${keyId} ${date}`, sums);
  }
}

class Worker {
  readonly expected = new Sums();
  readonly written = new Sums();
  /** Keys that were resolved to a wrong result. */
  readonly wrong: unknown[] = [];
  readonly #keys = new Map<string, StoredApiKey>();
  readonly #tokens = new Map<string, string>();
  readonly #table = new KeyTable();
  readonly #batches: KeyUsageBatch[] = [];
  readonly #pending = new PendingUsage(10_000);
  readonly #counter = new UsageCounter((batch) => void this.#batches.push(batch));
  readonly #cache = new KeyCache(this.#table);
  #nowMs = NOON_MS;

  take({ act, key: at, number }: Step): void {
    this.#nowMs += number % 3;
    const id = IDS[at] ?? '';
    const key = this.#keys.get(id);
    if (act === 'use') this.#use(key, number);
    else if (act === 'rotate' && key !== undefined) {
      const isKept = number % 3 > 0;
      this.#change({
        ...key,
        token_hash: this.#newHash(),
        previous_token_hash: isKept ? key.token_hash : null,
        previous_expires_at: isKept ? '2027-01-01T00:00:00.000Z' : null,
      });
    } else if (act === 'rename' && key !== undefined)
      this.#change({ ...key, name: NAMES[number % 4] ?? '', scopes: number % 2 === 0 ? [] : ['read'] });
    else if (act === 'create' && key === undefined)
      this.#change(
        keyRecord({ id, app_id: IDS[0] ?? '', name: NAMES[number % 4] ?? '', token_hash: this.#newHash() }),
      );
    else if (act === 'delete') this.#remove(id);
    else if (act === 'refuse') {
      this.#counter.countRefusal(id, this.#nowMs);
      this.expected.add(id, utcDate(this.#nowMs), [0, 0, 1], 0);
    } else if (act === 'tick') this.#counter.tick();
    else if (act === 'send') this.#counter.flush();
    else if (act === 'write') this.write(number % 2 === 0);
    else if (act === 'next day') this.#nowMs += DAY_MS;
    else if (act === 'previous day') this.#nowMs -= DAY_MS;
  }

  /** @param fails the write fails halfway, and the rest is put back */
  write(fails: boolean): void {
    for (const batch of this.#batches.splice(0)) this.#pending.addBatch(batch);
    const usages = this.#pending.takeAll();
    const until = fails ? usages.length >> 1 : usages.length;
    for (const { keyId, date, lastUsedMs, allowed, limited, denied } of usages.slice(0, until))
      this.written.add(keyId, date, [allowed, limited, denied], lastUsedMs);
    for (const usage of usages.slice(until)) this.#pending.add(usage);
  }

  end(): void {
    this.#counter.flush();
    this.write(false);
  }

  /** Several times, so that the key passes through every cache. */
  #use(key: StoredApiKey | undefined, number: number): void {
    const hash = (number % 4 === 0 ? key?.previous_token_hash : undefined) ?? key?.token_hash ?? '';
    const token = this.#tokens.get(hash) ?? TOKENS[number % TOKENS.length] ?? '';
    const held = this.#holderOf(tokenHash(token));
    const expected = held && presentedKey(held, held.token_hash !== tokenHash(token));
    for (let count = 0; count <= number % 5; count++) {
      const resolved = this.#cache.resolve(`${number % 3 === 0 ? 'bearer ' : 'Bearer'} ${token}`);
      if (expected === undefined || typeof resolved === 'string') {
        if (expected !== undefined || resolved !== 'key_unknown') this.wrong.push([key, resolved]);
        return;
      }
      const { appId, expiresAtMs, caller } = resolved;
      const isRight = appId === expected.appId && expiresAtMs === expected.expiresAtMs;
      const asMade = { ...callerOfKey(expected), usagePlace: caller.usagePlace };
      if (!isRight || !isDeepStrictEqual(caller, asMade)) this.wrong.push([key, resolved]);
      const outcome = (number + count) % 3;
      this.#counter.countUse(caller, OUTCOMES[outcome] ?? 'denied', this.#nowMs);
      const counts = OUTCOMES.map((_, index) => (index === outcome ? 1 : 0));
      this.expected.add(expected.id, utcDate(this.#nowMs), counts, this.#nowMs);
    }
  }

  #holderOf(hash: string): StoredApiKey | undefined {
    return [...this.#keys.values()].find(
      (key) => key.token_hash === hash || key.previous_token_hash === hash,
    );
  }

  #newHash(): string {
    const token = TOKENS[this.#tokens.size] ?? createToken(API_KEY_PREFIX, randomBytes(32));
    this.#tokens.set(tokenHash(token), token);
    return tokenHash(token);
  }

  #change(key: StoredApiKey): void {
    this.#table.change([key], []);
    this.#table.release(this.#table.takeRetired());
    this.#keys.set(key.id, key);
  }

  #remove(id: string): void {
    this.#table.change([], [id]);
    this.#table.release(this.#table.takeRetired());
    this.#keys.delete(id);
  }
}

it('each request resolves to its key and is counted once, however keys change and whenever counts are written', () => {
  let counted = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const worker = new Worker();
      for (let at = 0; at < IDS.length; at += 2) worker.take({ act: 'create', key: at, number: at });
      for (const each of steps) worker.take(each);
      worker.end();
      expect(worker.wrong).toEqual([]);
      expect(worker.written.all).toEqual(worker.expected.all);
      counted += worker.written.all.size;
    }),
    { numRuns: 50 },
  );
  expect(counted).toBeGreaterThan(1_000);
});
