/**
 * The key table under several threads: workers look up keys without pause while this thread changes keys as fast as it
 * can and releases retired blocks as the supervisor does. Each record says what a reader may see: the key's name gives
 * the hash and the round that it was written for, so a torn or reused record is detected.
 */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { keyRecord } from '../../test/support/data/config-records.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { KeyTable } from './key-table.ts';

const KEYS = 300;
const READERS = 2;
const RUN_MS = 1_500;

/** Looks up all hashes over and over; answers every message with the impossible results it has seen. */
const READER = `
  import { parentPort, workerData } from 'node:worker_threads';
  const { KeyReader } = await import(workerData.module);
  const reader = new KeyReader(workerData.memory);
  const wrong = [];
  let lookups = 0, found = 0, generation = reader.generation;
  const check = (number, round) => {
    const hash = workerData.hashes[number][round];
    const key = reader.findKeyByHash(hash);
    lookups++;
    if (key === undefined) return false;
    found++;
    const [name, at] = key.name.split(' ');
    const isRight = name === 'key-' + number && key.id === workerData.ids[number] &&
      (key.token_hash === hash || key.previous_token_hash === hash) &&
      key.token_hash === workerData.hashes[number][Number(at) % 4] &&
      key.scopes.length === Number(at) % 7 && key.scopes.every((scope) => scope === 'round:' + at);
    if (!isRight && wrong.length < 5) wrong.push({ number, round, key });
    return true;
  };
  const turn = () => {
    const before = reader.generation;
    if (before < generation) wrong.push('the generation decreased');
    generation = before;
    for (let number = 0; number < workerData.hashes.length; number++) {
      // Keys with even numbers always exist, under their present or previous value.
      const there = [0, 1, 2, 3].filter((round) => check(number, round)).length;
      if (number % 2 === 0 && there === 0 && reader.findKeyById(workerData.ids[number]) === undefined)
        wrong.push('key ' + number + ' is missing');
    }
    setImmediate(turn);
  };
  parentPort.on('message', (message) => {
    const absent = (message.absent ?? []).filter((hash) => reader.findKeyByHash(hash) !== undefined);
    if (absent.length > 0) wrong.push('removed but found: ' + absent.length);
    parentPort.postMessage({ id: message.id, wrong, lookups, found });
  });
  turn();
`;

interface Answer {
  readonly id: number;
  readonly wrong: readonly unknown[];
  readonly lookups: number;
  readonly found: number;
}

const workers = new Set<Worker>();
afterEach(async () => {
  await Promise.all([...workers].map((worker) => worker.terminate()));
  workers.clear();
});

const hex = (number: number, round: number): string =>
  `${(Math.imul(number * 4 + round + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')}${'0'.repeat(48)}${String(number * 4 + round).padStart(8, '0')}`;
const HASHES = Array.from({ length: KEYS }, (_, number) => [0, 1, 2, 3].map((round) => hex(number, round)));
const IDS = Array.from(
  { length: KEYS },
  (_, number) => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`,
);

/** Key `number` in its form of round `at`: its hashes repeat after four rounds, and the previous hash stays valid. */
function keyAt(number: number, at: number): StoredApiKey {
  const hashes = HASHES[number] ?? [];
  return keyRecord({
    id: IDS[number] ?? '',
    name: `key-${number} ${at}`,
    scopes: Array.from({ length: at % 7 }, () => `round:${at}`),
    token_hash: hashes[at % 4] ?? '',
    previous_token_hash: at === 0 ? null : (hashes[(at + 3) % 4] ?? ''),
    previous_expires_at: at === 0 ? null : '2030-01-01T00:00:00.000Z',
  });
}

function spawnReader(table: KeyTable): Worker {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(READER)}`), {
    workerData: {
      module: new URL('./key-table.ts', import.meta.url).href,
      memory: table.memory,
      hashes: HASHES,
      ids: IDS,
    },
  });
  workers.add(worker);
  return worker;
}

let nextId = 1;
/** What the reader has seen up to now; undefined when the worker has ended. */
function ask(worker: Worker, absent: readonly string[] = []): Promise<Answer | undefined> {
  const id = nextId++;
  return new Promise((resolve) => {
    const done = (answer: Answer | undefined): void => {
      worker.off('message', onMessage);
      worker.off('exit', onExit);
      resolve(answer);
    };
    const onMessage = (answer: Answer): void => {
      if (answer.id === id) done(answer);
    };
    const onExit = (): void => done(undefined);
    worker.on('message', onMessage);
    worker.on('exit', onExit);
    worker.postMessage({ id, absent });
  });
}

describe('a key table that several threads read', () => {
  it('shows each thread only whole records, and no removed key after the thread has answered', async () => {
    const table = new KeyTable();
    table.change(
      IDS.map((_, number) => keyAt(number, 0)),
      [],
    );
    const readers = Array.from({ length: READERS }, () => spawnReader(table));
    await Promise.all(readers.map((reader) => ask(reader)));
    const endMs = performance.now() + RUN_MS;
    let rounds = 0;
    for (let at = 1; performance.now() < endMs; at++) {
      const [first, second] = [(at * 7) % KEYS, (at * 13) % KEYS];
      const odd = second | 1;
      table.change([keyAt(first, at)], []);
      table.change([], [IDS[odd] ?? '']);
      const retired = table.takeRetired();
      const absent = first === odd ? [] : (HASHES[odd] ?? []);
      const answers = await Promise.all(readers.map((reader) => ask(reader, absent)));
      table.release(retired);
      for (const answer of answers) expect(answer?.wrong).toEqual([]);
      table.change([keyAt(odd, at)], []);
      // One reader dies at a random moment and another starts. Nothing needs cleaning up.
      if (at % 40 === 0) {
        const dying = readers.shift();
        if (dying !== undefined) {
          await dying.terminate();
          workers.delete(dying);
        }
        readers.push(spawnReader(table));
      }
      rounds = at;
    }
    const last = await Promise.all(readers.map((reader) => ask(reader)));
    expect(rounds).toBeGreaterThan(5);
    for (const answer of last) {
      expect(answer?.wrong).toEqual([]);
      expect(answer?.found).toBeGreaterThan(0);
    }
    expect(table.size).toBe(KEYS);
  });

  it('may grow many times while threads read it', async () => {
    const table = new KeyTable();
    table.change(
      IDS.map((_, number) => keyAt(number, 0)),
      [],
    );
    const reader = spawnReader(table);
    await ask(reader);
    const before = table.bytes;
    for (let batch = 0; batch < 40; batch++) {
      const keys = Array.from({ length: 500 }, (_, index) =>
        keyRecord({
          id: `01900000-0000-7000-9000-${String(batch * 500 + index).padStart(12, '0')}`,
          token_hash: hex(1_000 + batch * 500 + index, 0),
        }),
      );
      table.change(keys, []);
      const retired = table.takeRetired();
      expect((await ask(reader))?.wrong).toEqual([]);
      table.release(retired);
    }
    expect(table.size).toBe(KEYS + 20_000);
    expect(table.bytes).toBeGreaterThan(before * 10);
    expect(table.findKeyByHash(hex(1_000 + 19_999, 0))).toBeDefined();
  });
});

describe('the memory of a key table', () => {
  it('does not grow with changes once the replaced records are released', () => {
    const table = new KeyTable();
    const churn = (rounds: number): void => {
      for (let at = 0; at < rounds; at++) {
        const number = (at * 31) % KEYS;
        if (at % 3 === 0) table.change([], [IDS[number] ?? '']);
        else table.change([keyAt(number, at)], []);
        table.release(table.takeRetired());
      }
    };
    churn(20_000);
    const bytes = table.bytes;
    churn(40_000);
    expect(table.bytes).toBeLessThan(bytes * 1.3);
  });

  it('changes nothing when a limit is reached', () => {
    const table = new KeyTable({ keysMax: 2 });
    const three = [0, 1, 2].map((number) => keyAt(number, 0));
    expect(() => table.change(three, [])).toThrow('the limit is 2, and these are 3');
    expect(table.size).toBe(0);
    expect(() => table.assertRoomFor(three)).toThrow('the limit is 2');
    table.change(three.slice(0, 2), []);
    const { generation } = table;
    expect(() => table.change(three.slice(2), [])).toThrow('Cannot hold more API keys');
    expect(table.generation).toBe(generation);
    // Replacing a key does not add one.
    table.assertRoomFor([keyAt(0, 1)]);
    table.change([keyAt(0, 1)], []);
    expect(table.findKeyById(IDS[0] ?? '')?.name).toBe('key-0 1');

    const small = new KeyTable({ bytesMax: 64 * 1024 });
    const many = IDS.map((_, number) => keyAt(number, 5));
    let held = 0;
    expect(() => {
      for (const key of [...many, ...many.map((each) => ({ ...each, name: 'x'.repeat(5_000) }))]) {
        small.change([key], []);
        held = small.size;
      }
    }).toThrow('Cannot hold more API keys: the limit is 65536 bytes');
    expect(small.size).toBe(held);
    for (const key of small.all()) expect(small.findKeyByHash(key.token_hash)).toEqual(key);
    // Records that were not published are free again.
    small.change([], IDS);
    small.release(small.takeRetired());
    small.change(many.slice(0, 50), []);
    expect(small.size).toBe(50);
  });

  it('decodes every kind of record to what was encoded', () => {
    const table = new KeyTable();
    const odd: StoredApiKey[] = [
      keyAt(0, 3),
      keyRecord({ id: 'not a UUID', token_hash: 'not a hash', app_id: '', name: '\u2028 "\\ 𝄞 ü\n' }),
      keyRecord({
        id: IDS[5] ?? '',
        token_hash: 'A'.repeat(64),
        created_at: 'yesterday',
        updated_at: 'yesterday',
      }),
      keyRecord({
        id: IDS[6] ?? '',
        token_hash: hex(6, 0),
        updated_at: '2026-01-01T00:00:00Z',
        expires_at: '',
      }),
      keyRecord({ id: IDS[7] ?? '', token_hash: hex(7, 0), expires_at: '9999-12-31T23:59:59.999Z' }),
      { ...keyRecord({ id: IDS[8] ?? '', token_hash: hex(8, 0) }), plan: { name: 'gold' } } as StoredApiKey,
      keyRecord({
        id: IDS[9] ?? '',
        token_hash: hex(9, 0),
        scopes: Array.from({ length: 500 }, (_, n) => `s:${n}`),
      }),
    ];
    table.change(odd, []);
    for (const key of odd) {
      expect(table.findKeyById(key.id)).toEqual(key);
      expect(table.findKeyByHash(key.token_hash)).toEqual(key);
    }
    expect(new Set([...table.all()].map(({ id }) => id))).toEqual(new Set(odd.map(({ id }) => id)));
    // Adding the same records again changes nothing, so no cache has to forget them.
    const { generation, bytes } = table;
    table.replaceAll(odd);
    expect([table.generation, table.bytes]).toEqual([generation, bytes]);
    table.replaceAll(odd.slice(0, 2));
    expect(table.size).toBe(2);
    expect(table.findKeyByHash(hex(7, 0))).toBeUndefined();
  });
});
