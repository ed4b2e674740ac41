import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  claimColumn,
  type ConcurrencyMemory,
  createConcurrencyMemory,
  openConcurrency,
  releaseColumnOf,
  WAYS,
} from './concurrency-memory.ts';
import { type ConcurrencyCap, REFUSED, SharedConcurrencyStore } from './concurrency.ts';
import type { HashKey } from './hash.ts';

const HASH_KEY: HashKey = [0x1234_5678, 0x0fed_cba9];

function memoryOf(slots = 1024, threads = 4): ConcurrencyMemory {
  return createConcurrencyMemory({ slots, threads });
}

function storeOf(memory: ConcurrencyMemory, owner = 1): SharedConcurrencyStore {
  return new SharedConcurrencyStore(memory, HASH_KEY, owner);
}

const capOf = (max: number, id = 'app:1'): ConcurrencyCap => ({ id, max });

/** Acquires permits until one is refused or `calls` are acquired. */
function takeAll(store: SharedConcurrencyStore, cap: ConcurrencyCap, subject = '', calls = 1000): number[] {
  const places: number[] = [];
  while (places.length < calls) {
    const place = store.acquire(cap, subject);
    if (place === REFUSED) break;
    places.push(place);
  }
  return places;
}

describe('a concurrency cap', () => {
  it('admits `max` at once, and one more for each release', () => {
    const store = storeOf(memoryOf());
    const cap = capOf(3);
    const places = takeAll(store, cap);
    expect(places).toHaveLength(3);
    expect(store.inUse(cap, '')).toBe(3);
    store.release(places[1]!);
    expect(store.inUse(cap, '')).toBe(2);
    expect(takeAll(store, cap)).toHaveLength(1);
  });

  it('counts each subject, each cap, and the cap as a whole separately', () => {
    const store = storeOf(memoryOf());
    for (const subject of ['', 'a', 'b', 'a\0', '203.0.113.7']) {
      expect(takeAll(store, capOf(2), subject)).toHaveLength(2);
      expect(takeAll(store, capOf(2, 'app:2'), subject)).toHaveLength(2);
    }
  });

  it('keeps the count when `max` is changed live, and applies the new cap at once', () => {
    const store = storeOf(memoryOf());
    const places = takeAll(store, capOf(5));
    expect(takeAll(store, capOf(7))).toHaveLength(2);
    expect(store.acquire(capOf(2), '')).toBe(REFUSED);
    for (const place of places) store.release(place);
    expect(store.inUse(capOf(2), '')).toBe(2);
    expect(store.acquire(capOf(2), '')).toBe(REFUSED);
  });

  it('applies to all threads together', () => {
    const memory = structuredClone(memoryOf());
    const stores = [1, 2, 3].map((owner) => storeOf(memory, owner));
    const taken = stores.flatMap((store) =>
      takeAll(store, capOf(4), 'a', 2).map((place) => ({ store, place })),
    );
    expect(taken).toHaveLength(4);
    taken[3]!.store.release(taken[3]!.place);
    expect(takeAll(stores[2]!, capOf(4), 'a')).toHaveLength(1);
  });

  it('agrees with counting by hand on random schedules of several threads', () => {
    const anyStep = fc.record({
      thread: fc.integer({ min: 0, max: 2 }),
      subject: fc.integer({ min: 0, max: 12 }),
      max: fc.integer({ min: 1, max: 5 }),
      release: fc.boolean(),
      pick: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 50, maxLength: 400 }), (steps) => {
        // One set, so that slots often change their counters.
        const memory = memoryOf(WAYS, 3);
        const stores = [1, 2, 3].map((owner) => storeOf(memory, owner));
        const held: { readonly thread: number; readonly subject: number; readonly place: number }[] = [];
        const of = (subject: number): number => held.filter((entry) => entry.subject === subject).length;
        for (const { thread, subject, max, release, pick } of steps) {
          if (release && held.length > 0) {
            const [entry] = held.splice(pick % held.length, 1);
            stores[entry!.thread]!.release(entry!.place);
            continue;
          }
          expect(stores[thread]!.inUse(capOf(max), `${subject}`)).toBe(of(subject));
          const place = stores[thread]!.acquire(capOf(max), `${subject}`);
          expect(place !== REFUSED).toBe(of(subject) < max);
          if (place !== REFUSED) held.push({ thread, subject, place });
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each([{ max: 0 }, { max: -1 }, { max: 1.5 }, { max: Number.NaN }])(
    'refuses a cap that no configuration can contain: $max',
    ({ max }) => {
      const store = storeOf(memoryOf());
      expect(() => store.acquire(capOf(max), '')).toThrow('Assertion failed');
      expect(store.acquire(capOf(1), '')).not.toBe(REFUSED);
    },
  );

  it('throws when a permit is released twice', () => {
    const store = storeOf(memoryOf());
    const place = store.acquire(capOf(1), '');
    store.release(place);
    expect(() => store.release(place)).toThrow('released twice');
  });
});

describe('the memory of concurrency caps', () => {
  it('never grows: refuses callers beyond its slots, and admits them when others end', () => {
    const memory = memoryOf(256, 2);
    const store = storeOf(memory);
    const cap = capOf(2);
    const places: number[] = [];
    for (let caller = 0; caller < 5000; caller++) places.push(...takeAll(store, cap, `caller ${caller}`, 1));
    // Every set is full now.
    expect(places).toHaveLength(256);
    expect(store.acquire(cap, 'one more')).toBe(REFUSED);
    for (const place of places) store.release(place);
    expect(takeAll(store, cap, 'one more')).toHaveLength(2);
  });

  it('supports tens of thousands of callers at once at its default size', () => {
    const store = storeOf(memoryOf(65_536, 2));
    let refused = 0;
    for (let caller = 0; caller < 30_000; caller++) {
      if (store.acquire(capOf(1), `2001:db8::${caller.toString(16)}`) === REFUSED) refused++;
    }
    expect(refused).toBeLessThan(30);
  });

  it('reuses slots of callers that come and go', () => {
    const store = storeOf(memoryOf(64, 2));
    for (let caller = 0; caller < 20_000; caller++) {
      const place = store.acquire(capOf(1), `caller ${caller}`);
      expect(place).not.toBe(REFUSED);
      store.release(place);
    }
  });

  it('has a column for each thread, and no more', () => {
    const table = openConcurrency(memoryOf(64, 2));
    expect([claimColumn(table, 7), claimColumn(table, 9)]).toEqual([0, 1]);
    expect(() => claimColumn(table, 11)).toThrow('no column is left');
  });
});

describe('a thread that has died', () => {
  it('releases all of its own permits and its column, and none of other threads', () => {
    const memory = memoryOf(1024, 2);
    const [first, second] = [storeOf(memory, 1), storeOf(memory, 2)];
    expect(takeAll(first, capOf(5), 'a', 2)).toHaveLength(2);
    expect(takeAll(first, capOf(5), 'b')).toHaveLength(5);
    const places = takeAll(second, capOf(5), 'a');
    expect(places).toHaveLength(3);
    expect(releaseColumnOf(memory, 3)).toBe(0);
    expect(releaseColumnOf(memory, 1)).toBe(7);
    expect(releaseColumnOf(memory, 1)).toBe(0);
    const heir = storeOf(memory, 4);
    expect(takeAll(heir, capOf(5), 'a')).toHaveLength(2);
    expect(takeAll(heir, capOf(5), 'b')).toHaveLength(5);
    second.release(places[0]!);
    expect(second.inUse(capOf(5), 'a')).toBe(4);
  });

  it('blocks no thread once its lock has been freed', () => {
    const memory = memoryOf(WAYS, 2);
    const store = storeOf(memory, 1);
    expect(takeAll(store, capOf(2), 'a', 1)).toHaveLength(1);
    storeOf(memory, 2);
    const words = new Int32Array(memory.buffer);
    words[0] = 2;
    expect(store.acquire(capOf(2), 'a')).toBe(REFUSED);
    releaseColumnOf(memory, 2);
    expect(takeAll(store, capOf(2), 'a')).toHaveLength(1);
  });
});
