/**
 * Workers with more keys than fit their caches, and a main thread that changes some: changes take effect with the next
 * request in every worker, whatever it has cached.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyRecord } from '../../../../test/support/data/config-records.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { StoredApiKey } from '../../../model/resources.ts';
import { API_KEY_PREFIX, createToken, tokenHash } from '../../../model/token.ts';
import { KeyTable } from '../../../keys/key-table.ts';

const KEYS = 21_000;
const WORKERS = 2;
const APP_ID = uuidv7(Date.now());

/** Answers each list of tokens with the name of the key of each, or why it is refused. */
const ASKED = `
  import { parentPort, workerData } from 'node:worker_threads';
  const [{ KeyReader }, { createApiKeys }] = await Promise.all(workerData.modules.map((module) => import(module)));
  const apiKeys = createApiKeys({ keys: new KeyReader(workerData.memory) });
  const verdictOn = (token) => {
    const caller = apiKeys.identify('Bearer ' + token, { id: workerData.appId }, Date.now(), {});
    return typeof caller === 'string' ? caller : caller.name;
  };
  parentPort.on('message', (tokens) => parentPort.postMessage(tokens.map(verdictOn)));
`;

interface Known {
  readonly token: string;
  readonly key: StoredApiKey;
}

const table = new KeyTable();
let all: Known[] = [];
let workers: Worker[] = [];

function newKey(index: number): Known {
  const token = createToken(API_KEY_PREFIX, randomBytes(32));
  const id = uuidv7(Date.now());
  return {
    token,
    key: keyRecord({ id, app_id: APP_ID, name: `key ${index}`, token_hash: tokenHash(token) }),
  };
}

async function ask(worker: Worker, tokens: readonly string[]): Promise<readonly string[]> {
  const answer = once(worker, 'message') as Promise<[readonly string[]]>;
  worker.postMessage(tokens);
  return (await answer)[0];
}

/** The verdict on a token, which all workers share. */
async function verdict(token: string): Promise<string> {
  const verdicts = await Promise.all(workers.map((worker) => ask(worker, [token])));
  expect(new Set(verdicts.flat()).size).toBe(1);
  return verdicts[0]?.[0] ?? '';
}

beforeAll(async () => {
  all = Array.from({ length: KEYS }, (_, index) => newKey(index));
  table.change(
    all.map(({ key }) => key),
    [],
  );
  const modules = ['../../../keys/key-table.ts', './api-key.ts'].map(
    (path) => new URL(path, import.meta.url).href,
  );
  workers = Array.from({ length: WORKERS }, () => {
    const url = new URL(`data:text/javascript,${encodeURIComponent(ASKED)}`);
    return new Worker(url, { workerData: { modules, memory: table.memory, appId: APP_ID } });
  });
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.terminate()));
});

describe('in every worker with more keys than its cache', () => {
  it('each key identifies its own caller, however often keys are used', async () => {
    const tokens = all.map(({ token }) => token);
    const names = all.map(({ key }) => key.name);
    for (let round = 0; round < 3; round++) {
      for (const worker of workers) expect(await ask(worker, tokens)).toEqual(names);
    }
  });

  it.each([
    ['in the cache', 1_500],
    ['outside the cache', KEYS - 1],
  ])('a change of a key %s takes effect with the next request', async (_which, index) => {
    const { token, key } = all[index]!;
    const next = newKey(index);
    const change = async (fields: Partial<StoredApiKey>): Promise<string> => {
      table.change([{ ...key, ...fields }], []);
      return verdict(token);
    };
    expect(await verdict(token)).toBe(key.name);
    expect(await change({ is_active: false })).toBe('key_disabled');
    expect(await change({ name: 'another name' })).toBe('another name');
    expect(await change({ expires_at: '2026-01-01T00:00:00.000Z' })).toBe('key_expired');
    expect(await change({ app_id: uuidv7(Date.now()) })).toBe('key_of_other_app');
    const rotated = { token_hash: next.key.token_hash, previous_token_hash: key.token_hash };
    expect(await change({ ...rotated, previous_expires_at: '2126-01-01T00:00:00.000Z' })).toBe(key.name);
    expect(await verdict(next.token)).toBe(key.name);
    expect(await change({ ...rotated, previous_expires_at: '2026-01-01T00:00:00.000Z' })).toContain(
      'expired',
    );
    expect(await change({ token_hash: next.key.token_hash })).toBe('key_unknown');
    expect(await verdict(next.token)).toBe(key.name);
    table.change([], [key.id]);
    expect([await verdict(token), await verdict(next.token)]).toEqual(Array(2).fill('key_unknown'));
  });

  it('a removed key is refused although other keys reuse its memory', async () => {
    const gone = all.slice(5_000, 5_050).concat(all.slice(-100, -50));
    table.change(
      [],
      gone.map(({ key }) => key.id),
    );
    const refused = gone.map(() => 'key_unknown');
    for (const worker of workers)
      expect(
        await ask(
          worker,
          gone.map(({ token }) => token),
        ),
      ).toEqual(refused);
    table.release(table.takeRetired());
    const others = gone.map((_, index) => newKey(index));
    table.change(
      others.map(({ key }) => key),
      [],
    );
    for (const worker of workers) {
      expect(
        await ask(
          worker,
          gone.map(({ token }) => token),
        ),
      ).toEqual(refused);
    }
  });
});
