/**
 * The key table compared with a map through random histories in which entries collide: all hashes and ids belong into a
 * few neighbouring places of the index, around its end. A reader looks up present and former values between changes and
 * during them: at each access to a shared word, the other side acts as another thread would.
 */
import { hash as digest } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { keyRecord } from '../../test/support/data/config-records.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { placeOfId } from './key-record.ts';
import { KeyTable, type KeyReader } from './key-table.ts';
import { WordBuffer, readId } from './key-words.ts';
import { presentedKey } from './presented-key.ts';

// Another thread has its own buffers for what it looks up.
let otherThread: { readonly KeyReader: typeof KeyReader };
beforeAll(async () => {
  vi.resetModules();
  otherThread = await import('./key-table.ts');
});

/** A failure is reported by its seed: shrinking a history of 150 steps takes minutes. */
const AS_IT_IS = { endOnFailure: true };
const KEYS = 20;
const IDS = idsAroundTheEnd();
const NAMES = ['office', 'a "b" \\', 'ü ☃', '', 'x'.repeat(600), 'x'.repeat(70_000)];
const SCOPES = [[], ['orders:read'], ['a]', '"'], Array.from({ length: 90 }, (_, index) => `scope:${index}`)];
const TIMES = [null, '2027-01-01T00:00:00.000Z', 'soon'];

/** UUIDs, and one id in another format, that belong into the last two or the first two places of an index of 64. */
function idsAroundTheEnd(): string[] {
  const ids: string[] = [];
  const words = new WordBuffer(4);
  for (let number = 0; ids.length < KEYS; number++) {
    const hex = digest('sha256', `id ${number}`).slice(0, 32);
    const id = ids.length === 5 ? hex : hex.replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    readId(id, words);
    if (((placeOfId(words) + 2) & 63) < 4) ids.push(id);
  }
  return ids;
}

/**
 * Hashes that belong into the same places. A third of them share the whole word that gives the place, but not where a
 * look-up is interrupted: two such values of one key occur once in 2^32, and a rotation between them may hide the key.
 */
function hashOf(number: number, sharesWords: boolean): string {
  const hex = digest('sha256', `value ${number}`);
  const end = sharesWords && number % 3 === 0 ? `000000${hex.slice(8)}` : hex.slice(2);
  return ['3e', '3f', '00', '01'][number % 4] + end;
}

const step = fc.record({
  act: fc.oneof(
    { weight: 4, arbitrary: fc.constant('rotate' as const) },
    {
      weight: 5,
      arbitrary: fc.constantFrom(
        'create',
        'rotate at once',
        'end overlap',
        'edit',
        'delete',
        'restore',
        'go back',
      ),
    },
    { weight: 1, arbitrary: fc.constantFrom('swap', 'add many', 'delete many', 'replace all', 'release') },
  ),
  key: fc.nat({ max: KEYS - 1 }),
  number: fc.nat({ max: 1_000 }),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Keys = ReadonlyMap<string, StoredApiKey>;

const withHash = (keys: Keys, hash: string): StoredApiKey | undefined =>
  [...keys.values()].find((key) => key.token_hash === hash || key.previous_token_hash === hash);

class History {
  readonly table = new KeyTable({ bytesMax: 64 * 1024 ** 2 });
  readonly reader = new otherThread.KeyReader(this.table.memory);
  /** What the table was to contain since the last `settle`. */
  states: Keys[] = [new Map()];
  readonly hashes: string[] = [];
  readonly #deleted = new Map<string, StoredApiKey>();
  readonly #sharesWords: boolean;
  #retired = this.table.takeRetired().slice();

  constructor(sharesWords: boolean) {
    this.#sharesWords = sharesWords;
  }

  get keys(): Keys {
    return this.states.at(-1) as Keys;
  }

  settle(): void {
    this.states = [this.keys];
  }

  take({ act, key: at, number }: Step): void {
    if (act === 'release') {
      this.table.release(this.#retired.splice(0));
      return;
    }
    const id = IDS[at] ?? '';
    const key = this.keys.get(id);
    const old = this.#deleted.get(id);
    const other = this.keys.get(IDS[number % KEYS] ?? '');
    const overlap = { previous_expires_at: TIMES[number % 3] ?? null };
    if (act === 'delete') this.#change([], [id]);
    else if (act === 'delete many')
      this.#change(
        [],
        [...this.keys.keys()].filter((_, index) => index % 3 !== number % 3),
      );
    else if (act === 'add many') {
      const many = Array.from({ length: number % 80 }, () => `no UUID ${this.hashes.length}`);
      this.#change(many.map((each) => keyRecord({ id: each, token_hash: this.#newHash() })));
    } else if (act === 'replace all') {
      const kept = [...this.keys.values()].filter((_, index) => (index + number) % 3 > 0);
      this.#change(
        kept.map((each, index) => (index % 4 === 0 ? { ...each, name: 'kept' } : each)),
        undefined,
      );
    } else if (key === undefined) {
      if (act !== 'restore') this.#change([keyRecord({ id, token_hash: this.#newHash() })]);
      else if (old !== undefined && !this.#isTaken(old)) this.#change([old]);
    } else if (act === 'rotate')
      this.#change([
        { ...key, ...overlap, token_hash: this.#newHash(), previous_token_hash: key.token_hash },
      ]);
    else if (act === 'rotate at once')
      this.#change([{ ...key, token_hash: this.#newHash(), previous_token_hash: null }]);
    else if (act === 'go back' && key.previous_token_hash !== null)
      this.#change([{ ...key, token_hash: key.previous_token_hash, previous_token_hash: key.token_hash }]);
    else if (act === 'end overlap') this.#change([{ ...key, previous_token_hash: null }]);
    else if (act === 'edit')
      this.#change([
        {
          ...key,
          name: NAMES[number % 6] ?? '',
          scopes: SCOPES[number % 4] ?? [],
          expires_at: TIMES[number % 3] ?? null,
        },
      ]);
    else if (act === 'swap' && other !== undefined && other !== key) {
      const { token_hash, previous_token_hash } = key;
      this.#change([
        { ...key, token_hash: other.token_hash, previous_token_hash: other.previous_token_hash },
        { ...other, token_hash, previous_token_hash },
      ]);
    }
  }

  /** @param removed undefined removes all keys except `keys` */
  #change(keys: readonly StoredApiKey[], removed: readonly string[] | undefined = []): void {
    const after = new Map(removed === undefined ? [] : this.keys);
    for (const id of removed ?? []) after.delete(id);
    for (const key of keys) after.set(key.id, key);
    for (const [id, key] of this.keys) if (!after.has(id)) this.#deleted.set(id, key);
    this.states.push(after);
    if (removed === undefined) this.table.replaceAll(keys);
    else this.table.change(keys, removed);
    this.#retired.push(...this.table.takeRetired());
  }

  #newHash(): string {
    const hash = hashOf(this.hashes.length, this.#sharesWords);
    this.hashes.push(hash);
    return hash;
  }

  #isTaken({ token_hash: present, previous_token_hash: previous }: StoredApiKey): boolean {
    const isHeld = (hash: string | null): boolean => hash !== null && withHash(this.keys, hash) !== undefined;
    return isHeld(present) || isHeld(previous);
  }
}

/** Expects that every key, and nothing else, is found by every value that it has. */
function expectAll({ table, reader, keys, hashes }: History): void {
  for (const hash of hashes) {
    const key = withHash(keys, hash);
    expect(reader.findKeyByHash(hash)).toEqual(key);
    expect(reader.findPresentedKey(Buffer.from(hash, 'hex').toString('latin1'))).toEqual(
      key && presentedKey(key, key.token_hash !== hash),
    );
  }
  for (const id of IDS) expect(reader.findKeyById(id)).toEqual(keys.get(id));
  expect([...table.all()].map(({ id }) => id).sort()).toEqual([...keys.keys()].sort());
}

/** A look-up during other work, and a check that its result was right at some moment in the meantime. */
function lookUp({ reader, hashes }: History, keys: Keys, at: number): (states: readonly Keys[]) => boolean {
  const key = [...keys.values()][at % (keys.size || 1)];
  if (key !== undefined && at % 3 === 0) {
    const found = reader.findKeyById(key.id)?.token_hash;
    return (states) => states.some((state) => state.get(key.id)?.token_hash === found);
  }
  const ofKey = at % 2 === 0 ? key?.token_hash : key?.previous_token_hash;
  const hash = ofKey ?? hashes[at % hashes.length] ?? '';
  const found = reader.findKeyByHash(hash)?.id;
  return (states) => states.some((state) => withHash(state, hash)?.id === found);
}

/** Runs `work`, and `inBetween` before each read or after each write of a shared word. */
function interrupted<T>(name: 'load' | 'store', work: () => T, inBetween: () => void): T {
  const original = Atomics[name] as (...operands: unknown[]) => unknown;
  let isInside = false;
  const act = (): void => {
    if (isInside) return;
    isInside = true;
    inBetween();
    isInside = false;
  };
  const spy = vi.spyOn(Atomics, name).mockImplementation(((...operands: unknown[]) => {
    if (name === 'load') act();
    const result = original(...operands);
    if (name === 'store') act();
    return result;
  }) as never);
  try {
    return work();
  } finally {
    spy.mockRestore();
  }
}

describe('a key table with colliding entries', () => {
  it('agrees with a map through any history of changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
        const history = new History(true);
        for (const [index, each] of steps.entries()) {
          history.take(each);
          if (index % 16 === 15) expectAll(history);
        }
        expectAll(history);
        expect(history.table.size).toBe(history.keys.size);
      }),
      { numRuns: 60, ...AS_IT_IS },
    );
  });

  it('shows a reader a state before or after each change made during its look-up', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat({ max: 5 })), { maxLength: 150, size: 'max' }), (steps) => {
        const history = new History(false);
        for (const [index, [each, place]] of steps.entries()) {
          let left = place;
          const act = (): void => {
            if (left-- === 0 && each.act !== 'release') history.take(each);
          };
          const isTrue = interrupted('load', () => lookUp(history, history.keys, index), act);
          if (left >= 0 || each.act === 'release') history.take(each);
          expect(isTrue(history.states)).toBe(true);
          history.settle();
        }
        expectAll(history);
      }),
      { numRuns: 60, ...AS_IT_IS },
    );
  });

  it('finds a key that is edited during the look-up, also when the memory grows', () => {
    for (const place of [0, 1, 2, 3, 4]) {
      const table = new KeyTable();
      const reader = new otherThread.KeyReader(table.memory);
      const key = keyRecord({ id: IDS[0] ?? '' });
      // A record so large that the memory must grow for the next one.
      table.change([key], []);
      table.change([keyRecord({ id: 'large', name: 'x'.repeat(200_000) })], []);
      let left = place;
      const edit = (): void => void (left-- === 0 && table.change([{ ...key, name: 'edited' }], []));
      const found = interrupted('load', () => reader.findKeyByHash(key.token_hash), edit);
      expect(left, 'edited').toBeLessThan(0);
      expect([key.name, 'edited']).toContain(found?.name);
    }
  });

  it('shows a reader the state before or after a change while the change is made', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
        const history = new History(false);
        for (const each of steps) {
          let place = each.number;
          const work = (): void => history.take(each);
          // Keys that exchange their values change one after the other.
          if (each.act === 'swap') work();
          else
            interrupted('store', work, () => {
              const isTrue = lookUp(history, history.states[0] as Keys, place++);
              expect(isTrue(history.states)).toBe(true);
            });
          history.settle();
        }
        expectAll(history);
      }),
      { numRuns: 40, ...AS_IT_IS },
    );
  });
});
