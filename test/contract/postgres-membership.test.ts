/** Gateways that share a PostgreSQL database: what they hear of each other, by word and without, and who is listed. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { SecretKeys } from '../../src/lib/secret-key-text.ts';
import type { ConfigPosition } from '../../src/model/config.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import {
  MESSAGE_LENGTH_MAX,
  type Membership,
  type NodeDescription,
  type Repository,
} from '../../src/storage/repository.ts';
import { StorageRefused, StorageUnavailable } from '../../src/storage/storage-errors.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';
import { startTcpRelay, type TcpRelay } from '../support/backends/tcp-relay.ts';
import { change, seed } from './records.ts';
import { awakeMs } from '../support/measure/steady.ts';

/** Longer than any test: what arrives with it was said. */
const NEVER_MS = 60_000;
const OFTEN_MS = 50;
const KEY = Buffer.alloc(32, 7);

let server: PostgresServer;
let relay: TcpRelay;
let database: string;
let url: string;
let opened: Repository[];
let joined: Membership[];
beforeAll(async () => {
  server = await startPostgres('fsync=off');
  database = await server.createDatabase();
  relay = await startTcpRelay(server.port);
});
afterAll(async () => {
  relay.close();
  await server.stop();
});
beforeEach(async () => {
  opened = [];
  joined = [];
  url = await server.createSchema(database);
});
afterEach(async () => {
  relay.heal();
  for (const membership of joined) await membership.leave();
  for (const repository of opened) await repository.close();
});

async function open(key: Buffer | readonly Buffer[] | undefined, throughRelay = false): Promise<Repository> {
  const repository = await openPostgres({
    secretPlaces: SECRET_PLACES,
    url: throughRelay ? url.replace(`:${server.port}/`, `:${relay.port}/`) : url,
    autoMigrate: true,
    clock: systemClock,
    secretKeys: key && ([key].flat() as unknown as SecretKeys),
    settings: { ...POSTGRES_DEFAULTS, timeoutMs: 5_000, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 },
  });
  opened.push(repository);
  return repository;
}

const describeNode = (name: string, fields: Partial<NodeDescription> = {}): NodeDescription => ({
  id: `id-of-${name}`,
  name,
  programVersion: '1.2.3',
  startedAt: new Date(1_700_000_000_000).toISOString(),
  heartbeatMs: OFTEN_MS,
  timeoutMs: 1_000,
  ...fields,
});

interface Heard {
  readonly membership: Membership;
  changed: number;
  position: ConfigPosition | undefined;
  applied: [string, number][];
  messages: string[];
  /** How many, and which of them. */
  nodes: [number, number] | undefined;
  missed: number;
  lost: number;
  back: number;
}

async function join({ cluster }: Repository, node: NodeDescription, configVersion = 0): Promise<Heard> {
  if (cluster === undefined) throw new Error('a repository on Postgres has others');
  const heard = {
    changed: 0,
    position: undefined,
    applied: [],
    messages: [],
    nodes: undefined,
    missed: 0,
    lost: 0,
    back: 0,
  } as unknown as Heard;
  const membership = await cluster.join(node, configVersion, {
    onChanged: () => void heard.changed++,
    onPosition: (position) => void (heard.position = position),
    onApplied: (id, version) => void heard.applied.push([id, version]),
    onNodes: ({ count, rank }) => void (heard.nodes = [count, rank]),
    onMessage: (text) => void heard.messages.push(text),
    onMissed: () => void heard.missed++,
    onLost: () => void heard.lost++,
    onBack: () => void heard.back++,
  });
  joined.push(membership);
  return Object.assign(heard, { membership });
}

const names = async ({ cluster }: Repository): Promise<string[]> =>
  ((await cluster?.liveNodes()) ?? []).map(({ name }) => name);

test('a gateway that joins is listed, with the version that it has applied, until it leaves', async () => {
  const [one, two] = [await open(KEY), await open(KEY)];
  // No node drops out here, however busy the machine is.
  const patient = { timeoutMs: NEVER_MS };
  const a = await join(one, describeNode('a', patient), 3);
  const b = await join(two, describeNode('b', patient));
  expect(await one.cluster?.liveNodes()).toEqual([
    {
      id: 'id-of-a',
      name: 'a',
      programVersion: '1.2.3',
      startedAt: '2023-11-14T22:13:20.000Z',
      lastSeenAt: expect.stringMatching(/^20\d\d-.*Z$/),
      configVersion: 3,
    },
    expect.objectContaining({ name: 'b', configVersion: 0 }),
  ]);
  await expect
    .poll(() => [a.nodes, b.nodes])
    .toEqual([
      [2, 0],
      [2, 1],
    ]);
  await b.membership.leave();
  expect(await names(one)).toEqual(['a']);
  await expect.poll(() => a.nodes).toEqual([1, 0]);
});

test('a message is heard by all gateways or by one, whole and in order, and by none when one is too long', async () => {
  const [one, two] = [await open(KEY), await open(KEY)];
  const a = await join(one, describeNode('a'));
  const b = await join(two, describeNode('b'));
  await one.cluster?.send(undefined, ['to all']);
  const texts = Array.from(
    { length: 20 },
    (_text, index) => `${index} ${'x'.repeat(MESSAGE_LENGTH_MAX - 3)}`,
  );
  await two.cluster?.send('id-of-a', texts);
  await expect.poll(() => a.messages).toEqual(['to all', ...texts]);
  expect(b.messages).toEqual(['to all']);
  const tooLong = ['short', 'x'.repeat(8_000)];
  await expect(two.cluster?.send('id-of-a', tooLong)).rejects.toThrow(/payload string too long/);
  await two.cluster?.send('id-of-a', ['after']);
  await expect.poll(() => a.messages.at(-1)).toBe('after');
  expect(a.messages).toHaveLength(2 + texts.length);
});

test('a write, and what the others obey, is heard at once and not with the heartbeat', async () => {
  const [one, two] = [await open(KEY), await open(KEY)];
  const slow = { heartbeatMs: NEVER_MS, timeoutMs: 2 * NEVER_MS };
  const a = await join(one, describeNode('a', slow));
  const b = await join(two, describeNode('b', slow));
  await seed(one);
  await expect.poll(() => [a.changed, b.changed]).toEqual([1, 1]);
  b.membership.applied(1);
  await expect.poll(() => a.applied.at(-1)).toEqual(['id-of-b', 1]);
  expect(b.applied, 'no node hears itself').toEqual([]);
  expect(await two.cluster?.liveNodes()).toMatchObject([{ configVersion: 0 }, { configVersion: 1 }]);
  for (let version = 2; version < 30; version++) b.membership.applied(version);
  await expect.poll(() => a.applied.at(-1)).toEqual(['id-of-b', 29]);
});

test('a write is not heard in another schema, nor one that was given up', async () => {
  const one = await open(KEY);
  const a = await join(one, describeNode('a', { heartbeatMs: NEVER_MS, timeoutMs: NEVER_MS }));
  const given = one.write(async () => {
    throw new RangeError('given up');
  });
  await expect(given).rejects.toThrow('given up');
  url = await server.createSchema(database);
  const elsewhere = await open(KEY);
  await seed(elsewhere);
  await seed(one);
  await expect.poll(() => a.changed).toBe(1);
  await pause(100);
  expect(a.changed).toBe(1);
});

test('what was not said is found with the heartbeat', async () => {
  const one = await open(KEY);
  const a = await join(one, describeNode('a'));
  await expect.poll(() => a.position).toEqual({ configVersion: 0, changeId: undefined });
  await server.query(url, 'update config_state set config_version = 7');
  await expect.poll(() => a.position?.configVersion).toBe(7);
  expect(a.changed).toBe(0);
});

test('one that lost its connection hears again what happens, and of what happened meanwhile', async () => {
  const one = await open(KEY);
  const a = await join(one, describeNode('a', { heartbeatMs: NEVER_MS, timeoutMs: NEVER_MS }));
  for (let round = 1; round <= 3; round++) {
    a.position = undefined;
    await server.query(
      url,
      `select pg_terminate_backend(pid, 2000) from pg_stat_activity
       where application_name = 'headgate' and pid <> pg_backend_pid()`,
    );
    // The server's state, without waiting for a heartbeat.
    await expect.poll(() => a.position).toBeDefined();
  }
  const { app } = await seed(one);
  await expect.poll(() => a.changed).toBe(1);
  await change(one, async () => {}, { appIds: [app.id] });
  await expect.poll(() => a.changed).toBe(2);
  expect([a.lost, a.back], 'it was away for no longer than it takes to connect').toEqual([0, 0]);
});

test('one that is cut off without a word drops out, and comes back by itself', async () => {
  const [one, two] = [await open(KEY), await open(KEY, true)];
  const a = await join(one, describeNode('a'));
  const b = await join(two, describeNode('b'));
  relay.swallow();
  await expect.poll(() => names(one)).toEqual(['a']);
  await expect.poll(() => [a.nodes, b.lost]).toEqual([[1, 0], 1]);
  await seed(one);
  relay.heal();
  await expect.poll(() => names(one)).toEqual(['a', 'b']);
  await expect.poll(() => [b.back, b.position?.configVersion]).toEqual([1, 1]);
});

test('one that ended before the clock of the server was set back is not taken for live until then', async () => {
  const repository = await open(KEY);
  const ended = describeNode('ended');
  await server.query(
    url,
    `insert into node (id, name, program_version, secret_key_id, started_at, timeout_ms, config_version, last_seen_ms)
     values ('${ended.id}', 'ended', '1', 'another key', '${ended.startedAt}', 1000, 0,
       extract(epoch from clock_timestamp() + interval '1 hour') * 1000)`,
  );
  expect(await names(repository)).toEqual([]);
  await join(repository, describeNode('a', { timeoutMs: NEVER_MS }));
  expect(await names(repository)).toEqual(['a']);
  expect(await server.query(url, 'select name from node')).toEqual([{ name: 'a' }]);
});

test('a server that is frozen, and then stopped for a while, is found again', async () => {
  const one = await open(KEY);
  const a = await join(one, describeNode('a'));
  server.signalAll('SIGSTOP');
  try {
    await expect.poll(() => a.lost).toBe(1);
    await expect(one.cluster?.liveNodes()).rejects.toBeInstanceOf(StorageUnavailable);
  } finally {
    server.signalAll('SIGCONT');
  }
  await expect.poll(() => a.back).toBe(1);
  await server.crash();
  await expect.poll(() => a.lost).toBe(2);
  await server.start();
  await expect.poll(() => a.back).toBe(2);
  expect(await names(one)).toEqual(['a']);
});

test('a server that answers and cannot take the heartbeat is not asked without a pause', async () => {
  const one = await open(KEY, true);
  const a = await join(one, describeNode('a'));
  await server.query(url, 'alter table node rename to node_of_another_time');
  const before = relay.connections;
  await expect.poll(() => a.lost).toBe(1);
  await pause(1_000);
  // After 100, 300 and 700 ms.
  expect(relay.connections - before).toBeLessThanOrEqual(5);
  await server.query(url, 'alter table node_of_another_time rename to node');
  await expect.poll(() => a.back).toBe(1);
});

test('a gateway that leaves while the server is unavailable is removed in time', async () => {
  const one = await open(KEY);
  const a = await join(one, describeNode('a', { timeoutMs: 400 }));
  server.signalAll('SIGSTOP');
  const startedMs = awakeMs();
  try {
    await a.membership.leave();
    expect(awakeMs() - startedMs).toBeLessThan(3_000);
  } finally {
    server.signalAll('SIGCONT');
  }
  await expect.poll(() => names(one)).toEqual([]);
});

test.each([
  ['another secret key', Buffer.alloc(32, 8)],
  ['none', undefined],
])('one with %s may not join those that have one', async (_name, key) => {
  const first = await open(KEY);
  await join(first, describeNode('a'));
  const stranger = await open(key);
  const refused = join(stranger, describeNode('b'));
  await expect(refused).rejects.toBeInstanceOf(StorageRefused);
  await expect(refused).rejects.toThrow('"a" has a different GATEWAY_SECRET_KEY');
  expect(await names(first), 'who was refused is not listed').toEqual(['a']);
});

test('gateways with several keys join when each can decrypt what the others encrypt', async () => {
  const [present, next, stranger] = [KEY, Buffer.alloc(32, 8), Buffer.alloc(32, 9)];
  const first = await open([present, next]);
  await join(first, describeNode('a'));
  const joins = async (name: string, ...keys: Buffer[]): Promise<boolean> => {
    const repository = await open(keys);
    try {
      await join(repository, describeNode(name));
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(StorageRefused);
      return false;
    }
  };
  expect(await joins('only the next key', next)).toBe(false);
  expect(await joins('the next one and a stranger', next, stranger)).toBe(false);
  expect(await joins('only the present key', present)).toBe(true);
  expect(await joins('encrypts with what one lacks', next, present)).toBe(false);
  await joined.at(-1)?.leave();
  expect(await joins('encrypts with the next key', next, present)).toBe(true);
  expect(await joins('forgets the present key too early', next)).toBe(false);
});

test('secrets get another key only when every gateway encrypts with it', async () => {
  const [present, next] = [KEY, Buffer.alloc(32, 8)];
  const first = await open([present, next]);
  await join(first, describeNode('a'));
  const second = await open([next, present]);
  await join(second, describeNode('b'));
  expect(await second.secrets.rekey()).toEqual({
    refused:
      'the gateway "a" still encrypts with another key; expected every gateway on the database to have the same first key in GATEWAY_SECRET_KEY',
  });
  await joined[0]?.leave();
  expect(await second.secrets.rekey()).toEqual({ rekeyed: 0 });
});

test('a gateway whose heartbeats fail looks for changes itself, and is back when they succeed', async () => {
  const one = await open(KEY);
  const a = await join(one, describeNode('a'));
  await expect.poll(() => a.position).toBeDefined();
  expect([a.missed, a.lost]).toEqual([0, 0]);
  await server.query(url, 'alter table node rename to gone');
  await expect.poll(() => a.missed, { timeout: 5_000 }).toBeGreaterThan(2);
  expect([a.lost, a.back]).toEqual([1, 0]);
  await server.query(url, 'alter table gone rename to node');
  await expect.poll(() => a.back, { timeout: 5_000 }).toBe(1);
});

test('heartbeats succeed where transactions are read-only or short by default, as writes do', async () => {
  const own = await server.createDatabase();
  url = await server.createSchema(own);
  const one = await open(KEY);
  const name = new URL(own).pathname.slice(1);
  await server.query(own, `alter database ${name} set default_transaction_read_only = on`);
  await server.query(own, `set transaction read write; alter database ${name} set statement_timeout = '1ms'`);
  const two = await open(KEY);
  const a = await join(two, describeNode('a'));
  await expect.poll(() => a.nodes).toEqual([1, 0]);
  await seed(two);
  await expect.poll(() => a.position?.configVersion).toBe(1);
  expect(await names(one)).toEqual(['a']);
  expect(a.lost).toBe(0);
});
