/**
 * The shared store as a worker uses it, over a real server: what waits and what does not, what explain sees, two limits
 * on one request, permits that go back, the kinds of servers, and what comes in from outside.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { LeasedLimitStore } from '../../src/limits/shared/leased-store.ts';
import { NOTHING_ASKED } from '../../src/limits/shared/limit-server.ts';
import { RedisLimitServer } from '../../src/limits/shared/redis/redis-server.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../../src/limits/local/local-store.ts';
import type { LimitRule, SharedLimit } from '../../src/limits/store.ts';
import { after } from '../../src/limits/timers.ts';
import { LimitNode } from '../../src/control/cluster/limit-node.ts';
import { freePort } from '../support/backends/origin-process.ts';
import { quietWindowSecs } from '../support/policies.ts';
import { plainEnvironment } from '../support/programs/programs.ts';
import { redisCommand, redisProgram, startRedis, type TestRedis } from '../support/programs/redis.ts';
import { startTcpRelay } from '../support/backends/tcp-relay.ts';
import { until } from '../support/measure/until.ts';
import { awakeMs } from '../support/measure/steady.ts';

let redis: TestRedis;
const opened: { store: LeasedLimitStore; server: RedisLimitServer }[] = [];
/** Why counters were refused, and why the store was not used at all. */
const told = { refusals: [] as string[], outages: [] as string[], stillOut: [] as string[] };
let rules = 0;

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(() => {
  told.refusals = [];
  told.outages = [];
  told.stillOut = [];
  for (const { store, server } of opened.splice(0)) {
    store.stop();
    server.close();
  }
});
afterAll(() => redis.close());

function ruleOf(fields: Partial<LimitRule> = {}, shared: Partial<SharedLimit> = {}): LimitRule {
  return Object.freeze<LimitRule>({
    id: `app:${rules++}`,
    algorithm: 'fixed_window',
    requests: 100,
    windowMs: 600_000,
    burst: 100,
    shared: { mode: undefined, onFailure: 'share', ...shared },
    ...fields,
  });
}

async function openStore(url = redis.url, nodes = { count: 2, rank: 0 }, timeoutMs = 2_000) {
  const server = new RedisLimitServer({ url, keyPrefix: 'test:', connectTimeoutMs: 1_000 });
  await server.connect(5_000);
  let connected = (): void => undefined;
  const recovered = new Promise<void>((done) => (connected = done));
  const local = new SharedMemoryLimitStore(createLimitMemory({ counterBytes: 2 ** 17 }), 1);
  const store = new LeasedLimitStore({
    server,
    local,
    clock: systemClock,
    after,
    nodes,
    threads: 1,
    leasesMax: 65_536,
    mode: 'leased',
    timeoutMs,
    onOutage: (reason) => told.outages.push(reason),
    onStillOut: (reason) => told.stillOut.push(reason),
    onRecovery: connected,
    onCounterRefused: (reason) => told.refusals.push(reason),
  });
  opened.push({ store, server });
  store.start();
  await recovered;
  return store;
}

const now = (): number => Date.now();
const calls = (store: LeasedLimitStore): number => store.counts.answered;

describe('a leased limit', () => {
  it('waits for the first permit, but for no later one while the demand continues', async () => {
    const store = await openStore();
    const rule = ruleOf({ requests: 1_000_000 });
    expect(store.take(rule, '', now())).toBeInstanceOf(Promise);
    let waited = 0;
    for (let turn = 0; turn < 100; turn++) {
      for (let index = 0; index < 20; index++) {
        const decision = store.take(rule, '', now());
        if (decision instanceof Promise) waited += 1;
        expect((await decision).admitted).toBe(true);
      }
      await pause(2);
    }
    expect(waited).toBeLessThan(100);
    expect(calls(store)).toBeLessThan(100);
  });

  it('asks once for all that wait', async () => {
    const store = await openStore();
    const rule = ruleOf();
    const before = calls(store);
    const decisions = await Promise.all(Array.from({ length: 150 }, async () => store.take(rule, '', now())));
    expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(100);
    expect(calls(store) - before).toBeLessThanOrEqual(2);
    const refused = store.take(rule, '', now());
    expect(refused, 'known without asking').not.toBeInstanceOf(Promise);
    expect(await refused).toMatchObject({ admitted: false, remaining: 0 });
    const { retryAfterSecs } = await refused;
    const windowLeftSecs = Math.ceil((600_000 - (now() % 600_000)) / 1000);
    expect(Math.abs(retryAfterSecs - windowLeftSecs)).toBeLessThanOrEqual(1);
  });

  it('is one limit over several nodes, and several for several callers', async () => {
    const [one, two] = [await openStore(), await openStore()];
    const rule = ruleOf({ requests: 10 });
    let admitted = 0;
    for (let index = 0; index < 30; index++) {
      if ((await (index % 2 ? one : two).take(rule, 'a', now())).admitted) admitted += 1;
    }
    expect(admitted).toBe(10);
    expect((await one.take(rule, 'b', now())).admitted).toBe(true);
    const keys = await redis.command('KEYS', 'test:limit:*');
    expect(keys).toMatch(/test:limit:\{[0-9a-f]{32}\}/);
    expect(keys).not.toContain(rule.id);
  });

  it('gives unused permits back, so that another node gets all of the rest', async () => {
    const [one, two] = [await openStore(), await openStore()];
    let admitted = 0;
    const takeAll = async (): Promise<boolean> => {
      const rule = ruleOf({ requests: 200, windowMs: 1_000 });
      await pause(1_000 - (now() % 1_000) + 20);
      const window = Math.floor(now() / 1_000);
      admitted = 0;
      for (let turn = 0; turn < 10; turn++) {
        for (let index = 0; index < 8; index++) if ((await one.take(rule, '', now())).admitted) admitted += 1;
        await pause(2);
      }
      // Longer than half of the lease and a look for what is unused.
      await pause(350);
      for (let index = 0; index < 300; index++) if ((await two.take(rule, '', now())).admitted) admitted += 1;
      return Math.floor(now() / 1_000) === window;
    };
    // On a busy machine it may not come to its end within one window.
    await until(takeAll);
    expect(admitted).toBeLessThanOrEqual(200);
    expect(admitted).toBeGreaterThanOrEqual(196);
  });

  it('applies a lowered limit at once', async () => {
    const store = await openStore();
    const rule = ruleOf({ requests: 1_000_000 });
    for (let turn = 0; turn < 20; turn++) {
      for (let index = 0; index < 20; index++) await store.take(rule, '', now());
      await pause(1);
    }
    const lowered = Object.freeze({ ...rule, requests: 3 });
    expect((await store.take(lowered, '', now())).admitted).toBe(false);
  });

  it('leaves to the node what is not shared', async () => {
    const store = await openStore();
    const { shared: _, ...rule } = ruleOf({ requests: 1 });
    expect(store.take(rule, '', now())).toMatchObject({ admitted: true });
    expect(store.peek(rule, '', now())).toMatchObject({ admitted: false });
  });
});

describe('an exact limit', () => {
  it('asks for every request, and remembers no refusal', async () => {
    const store = await openStore();
    const rule = ruleOf({ requests: 2 }, { mode: 'exact' });
    const before = calls(store);
    for (const admitted of [true, true, false, false]) {
      const decision = store.take(rule, '', now());
      expect(decision).toBeInstanceOf(Promise);
      expect((await decision).admitted).toBe(admitted);
    }
    expect(calls(store) - before).toBe(4);
  });
});

describe('a counter that the store refuses', () => {
  it.each([
    { name: 'of another type', spoil: ['SET', 'x'], reply: /^WRONGTYPE / },
    {
      name: 'with a value that is no number',
      spoil: ['HSET', 'w', '999999999', 'c', 'x'],
      reply: /user_script/,
    },
  ])('$name goes by the share; the store is used for all others', async ({ spoil, reply }) => {
    const store = await openStore();
    const [bad, good] = [ruleOf({}, { mode: 'exact' }), ruleOf({}, { mode: 'exact' })];
    await redis.command('FLUSHALL');
    await store.take(bad, '', now());
    const [key = ''] = /test:limit:\{[0-9a-f]{32}\}/.exec(await redis.command('KEYS', 'test:limit:*')) ?? [];
    const [command = '', ...values] = spoil;
    await redis.command('DEL', key);
    expect(await redis.command(command, key, ...values)).toMatch(/^(?:\+OK|:2)/);
    let admitted = 0;
    for (let index = 0; index < 70; index++) {
      if ((await store.take(bad, '', now())).admitted) admitted += 1;
      const { remaining } = await store.take(good, '', now());
      expect([store.isConnected, remaining]).toEqual([true, 99 - index]);
    }
    // Of two nodes, and less what the store had granted.
    expect(admitted).toBe(49);
    expect(store.counts.share).toBe(70);
    expect(told.outages).toEqual([]);
    expect(told.refusals[0]).toMatch(reply);
    expect(told.refusals[0]).toContain(`(${key}); another program has written to this key: remove it`);
    await redis.command('DEL', key);
    await until(async () => {
      const { share } = store.counts;
      await store.take(bad, '', now());
      return store.counts.share === share;
    }, 5_000);
    expect((await store.take(bad, '', now())).remaining).toBeLessThan(51);
  });
});

describe('a server that refuses', () => {
  const keysOf = async (): Promise<string[]> =>
    (await redis.command('KEYS', 'test:limit:*')).match(/test:limit:\{[0-9a-f]{32}\}/g) ?? [];
  afterEach(() => redis.command('ACL', 'SETUSER', 'default', '+@all', '~*'));

  it('some counters, for whatever reason, is used for the others', async () => {
    const store = await openStore();
    const [bad, good] = [ruleOf({}, { mode: 'exact' }), ruleOf({}, { mode: 'exact' })];
    await redis.command('FLUSHALL');
    await store.take(good, '', now());
    const [key = ''] = await keysOf();
    await redis.command('ACL', 'SETUSER', 'default', 'resetkeys', '~test:limit:{probe}', `~${key}`);
    for (let index = 0; index < 20; index++) {
      await store.take(bad, '', now());
      const { remaining } = await store.take(good, '', now());
      expect([store.isConnected, remaining]).toEqual([true, 98 - index]);
    }
    expect(told.outages).toEqual([]);
    expect(told.refusals[0]).toMatch(/^NOPERM .*; allow this user EVAL/);
  });

  it('all of them, is not used, and says why', async () => {
    const store = await openStore();
    const rule = ruleOf({}, { mode: 'exact' });
    await store.take(rule, '', now());
    await redis.command('ACL', 'SETUSER', 'default', '-@scripting');
    await store.take(rule, '', now());
    await expect.poll(() => store.isConnected).toBe(false);
    expect(told.refusals).toEqual([]);
    const reason = expect.stringMatching(/^NOPERM .*; allow this user EVAL/) as string;
    expect(told.outages).toEqual([reason]);
    await expect.poll(() => told.stillOut).toContainEqual(reason);
  });
});

describe('looking', () => {
  it.each(['leased', 'exact'] as const)(
    'at a %s limit consumes nothing and leaves no trace',
    async (mode) => {
      const store = await openStore();
      const rule = ruleOf({ requests: 2 }, { mode });
      for (let index = 0; index < 5; index++) {
        expect(await store.peek(rule, 'x', now())).toMatchObject({ admitted: true, remaining: 1 });
      }
      expect((await store.take(rule, 'x', now())).admitted).toBe(true);
      expect(await store.peek(rule, 'x', now())).toMatchObject({ admitted: true, remaining: 0 });
      expect((await store.take(rule, 'x', now())).admitted).toBe(true);
      expect(await store.peek(rule, 'x', now())).toMatchObject({ admitted: false, remaining: 0 });
    },
  );

  it('before taking costs no second round trip, and the permit of a caller that goes away is used by the next', async () => {
    const store = await openStore();
    const rule = ruleOf({ requests: 1 }, { mode: 'exact' });
    expect((await store.expect(rule, '', now())).admitted).toBe(true);
    const decision = store.take(rule, '', now());
    expect(decision).not.toBeInstanceOf(Promise);
    expect((await decision).admitted).toBe(true);
    expect((await store.expect(rule, '', now())).admitted).toBe(false);
  });
});

describe('without the store', () => {
  let own: TestRedis;
  beforeEach(async () => {
    own = await startRedis();
  });
  afterEach(() => own.close());

  it.each([
    [0, 4],
    [1, 3],
  ])('node %i of two admits its share, %i of seven, and tells of it afterwards', async (rank, share) => {
    const store = await openStore(own.url, { count: 2, rank });
    const rule = ruleOf({ requests: 7 });
    await own.stop();
    let admitted = 0;
    for (let index = 0; index < 20; index++) {
      const decision = await store.take(rule, '', now());
      if (decision.admitted) admitted += 1;
      else expect(decision.retryAfterSecs).toBeGreaterThan(0);
    }
    expect(admitted).toBe(share);
    await own.start();
    await expect.poll(() => store.isConnected).toBe(true);
    let later = 0;
    for (let index = 0; index < 20; index++) if ((await store.take(rule, '', now())).admitted) later += 1;
    expect(later).toBe(7 - share);
  });

  it('what was admitted of a fixed window is not charged to the next one', async () => {
    const windowMs = 6_000;
    const store = await openStore(own.url, { count: 2, rank: 0 });
    const rule = ruleOf({ requests: 10, windowMs });
    const admittedOf = async (count: number): Promise<number> => {
      let admitted = 0;
      for (let index = 0; index < count; index++)
        if ((await store.take(rule, '', now())).admitted) admitted += 1;
      return admitted;
    };
    await pause((2 * windowMs - 1_000 - (now() % windowMs)) % windowMs);
    await admittedOf(1);
    await own.stop();
    expect(1 + (await admittedOf(20))).toBeGreaterThanOrEqual(5);
    const next = Math.floor(now() / windowMs) + 1;
    await own.start();
    await expect.poll(() => store.isConnected).toBe(true);
    await pause(Math.max(0, next * windowMs + 20 - now()));
    const first = Math.floor(now() / windowMs);
    expect(await admittedOf(30)).toBe(10 * (1 + Math.floor(now() / windowMs) - first));
  });

  it('what the store had granted is part of the share', async () => {
    const store = await openStore(own.url, { count: 2, rank: 0 });
    const rule = ruleOf({ requests: 10 });
    for (let index = 0; index < 4; index++) await store.take(rule, '', now());
    await own.stop();
    let admitted = 0;
    for (let index = 0; index < 20; index++) if ((await store.take(rule, '', now())).admitted) admitted += 1;
    // Permits that were at hand may be used beyond the share: they are counted.
    expect(4 + admitted).toBeLessThanOrEqual(6);
    expect(4 + admitted).toBeGreaterThanOrEqual(5);
  });

  it('permits that were returned before do not count towards the share', async () => {
    const store = await openStore(own.url, { count: 1, rank: 0 });
    const rule = ruleOf({ requests: 400 });
    let used = 0;
    for (let turn = 0; turn < 10; turn++) {
      for (let index = 0; index < 8; index++) if ((await store.take(rule, '', now())).admitted) used += 1;
      await pause(2);
    }
    // What was taken ahead of need goes back when it was not used for half of a lease: another node sees it.
    const other = await openStore(own.url, { count: 1, rank: 0 });
    const leftInStore = async (): Promise<number> => (await other.peek(rule, '', now())).remaining;
    expect(await leftInStore()).toBeLessThan(400 - used - 1);
    await expect.poll(leftInStore, { timeout: 5_000 }).toBe(400 - used - 1);
    await own.stop();
    let admitted = 0;
    for (let index = 0; index < 500; index++) if ((await store.take(rule, '', now())).admitted) admitted += 1;
    expect(used + admitted).toBe(400);
  });

  it('permits that arrive too late pay for requests that were admitted without them', async () => {
    const relay = await startTcpRelay(own.port);
    try {
      const store = await openStore(`redis://127.0.0.1:${relay.port}`, { count: 2, rank: 0 }, 50);
      const rule = ruleOf({ requests: 10 });
      const admittedOf = async (count: number): Promise<number> => {
        const decisions = await Promise.all(
          Array.from({ length: count }, async () => store.take(rule, '', now())),
        );
        return decisions.filter(({ admitted }) => admitted).length;
      };
      relay.delay(60);
      expect(await admittedOf(5), 'by the share').toBe(5);
      const { answered } = store.counts;
      await expect.poll(() => store.counts.answered).toBeGreaterThan(answered);
      expect(await admittedOf(10), 'beyond the share').toBe(0);
      relay.heal();
      await expect.poll(() => store.isConnected).toBe(true);
      await pause(250);
      // Those that are asked for while the store is late once more are none of it: the share is used.
      let later = 0;
      await until(async () => (later += await admittedOf(20)) >= 5);
      expect(later + (await admittedOf(20)), 'of the limit').toBe(5);
    } finally {
      relay.close();
    }
  });

  it('everything passes, or nothing, where the rule says so', async () => {
    const store = await openStore(own.url);
    await own.stop();
    const allowed = ruleOf({ requests: 1 }, { onFailure: 'allow' });
    const denied = ruleOf({}, { onFailure: 'deny' });
    for (let index = 0; index < 5; index++) {
      expect((await store.take(allowed, '', now())).admitted).toBe(true);
      expect(await store.take(denied, '', now())).toMatchObject({ admitted: false, retryAfterSecs: 1 });
    }
    expect(store.counts).toMatchObject({ allow: 5, deny: 5 });
    const bucket = { algorithm: 'token_bucket', burst: 7 } as const;
    expect(await store.take(ruleOf(bucket, { onFailure: 'allow' }), '', now())).toMatchObject({
      limit: 7,
      remaining: 7,
    });
    expect(await store.take(ruleOf(bucket, { onFailure: 'deny' }), '', now())).toMatchObject({
      limit: 7,
      remaining: 0,
    });
  });
});

describe('a store that forgets', () => {
  it('grants a limit once more for each loss, and no more than that', async () => {
    const [one, two] = [await openStore(), await openStore()];
    const rule = ruleOf({ requests: 10 });
    let admitted = 0;
    const ask = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time++) {
        for (const store of [one, two]) if ((await store.take(rule, '', now())).admitted) admitted += 1;
      }
    };
    await ask(10);
    expect(admitted).toBe(10);
    for (const losses of [1, 2]) {
      await redis.command('FLUSHALL');
      // Longer than a refusal is remembered.
      for (let turn = 0; turn < 30; turn++) {
        await ask(1);
        await pause(10);
      }
      expect(admitted, `after ${losses}`).toBe(10 * (1 + losses));
    }
  });

  it('is not what lets go of a counter that nothing depends on any more', async () => {
    const store = await openStore();
    const rule = ruleOf({ algorithm: 'token_bucket', requests: 1_000, windowMs: 1_000, burst: 10_000 });
    await redis.command('FLUSHALL');
    expect((await store.take(rule, '', now())).admitted).toBe(true);
    // The bucket is full again at once, and its counter gone after little more than a second.
    await expect.poll(() => redis.command('KEYS', 'test:limit:*'), { timeout: 5_000 }).toBe('*0\r\n');
    expect((await store.take(rule, '', now())).admitted).toBe(true);
  });
});

describe('the nodes', () => {
  it('count each other; one that leaves is not counted any more, one that the store has forgotten is', async () => {
    const nodes = await Promise.all(
      [0, 1, 2].map(async () => {
        const server = new RedisLimitServer({ url: redis.url, keyPrefix: 'nodes:', connectTimeoutMs: 1_000 });
        const node = new LimitNode(
          server,
          createLimitMemory({ counterBytes: 65_536, buckets: 1 }).nodes,
          systemClock,
          1,
        );
        await node.start();
        return { node, server };
      }),
    );
    await expect.poll(() => nodes.map(({ node }) => node.nodes.count)).toEqual([3, 3, 3]);
    await expect
      .poll(() => nodes.map(({ node }) => node.nodes.rank).toSorted((a, b) => a - b))
      .toEqual([0, 1, 2]);
    await nodes[0]?.node.stop();
    await expect.poll(() => nodes.slice(1).map(({ node }) => node.nodes.count)).toEqual([2, 2]);
    // By now a smaller count is believed at once; but not that of a store that has forgotten all of them.
    await redis.command('DEL', 'nodes:nodes');
    const counts = new Set<number>();
    for (const endMs = now() + 2_200; now() < endMs; await pause(10)) {
      for (const { node } of nodes.slice(1)) counts.add(node.nodes.count);
    }
    expect([...counts]).toEqual([2]);
    await Promise.all(nodes.slice(1).map(({ node }) => node.stop()));
  }, 20_000);
});

describe('the kinds of servers', { timeout: 30_000 }, () => {
  it('a cluster is found by any of its servers', async () => {
    const [one] = await startCluster([0, 16_383]);
    try {
      const store = await openStore(`redis+cluster://127.0.0.1:${one?.port}`);
      const rule = ruleOf({ requests: 2 });
      const admitted: boolean[] = [];
      for (let index = 0; index < 3; index++) admitted.push((await store.take(rule, '', now())).admitted);
      expect(admitted).toEqual([true, true, false]);
    } finally {
      await one?.close();
    }
  });

  it('one server of a cluster counts what it has, and what is wrong with the URL is said', async () => {
    const servers = await startCluster([0, 8_191], [8_192, 16_383]);
    try {
      const slot = /\d+/.exec((await servers[0]?.command('CLUSTER', 'KEYSLOT', 'probe')) ?? '')?.[0];
      const store = await openStore(servers[Number(slot) < 8_192 ? 0 : 1]?.url);
      const rule = ruleOf({ requests: 10 }, { mode: 'exact' });
      const left: number[] = [];
      for (let subject = 0; subject < 20; subject++) {
        for (let turn = 0; turn < 2; turn++) await store.take(rule, String(subject), now());
        left.push((await store.take(rule, String(subject), now())).remaining);
      }
      expect(store.isConnected).toBe(true);
      expect(told.outages).toEqual([]);
      expect(new Set(left), 'of the limit, and of the share').toEqual(new Set([7, 2]));
      expect(told.refusals[0]).toMatch(/^MOVED .*; the server is part of a cluster: .* redis\+cluster:/);
    } finally {
      for (const each of servers) await each.close();
    }
  });

  it('of a cluster the memory of the server that is nearest to its bound is told', async () => {
    const servers = await startCluster([0, 8_191], [8_192, 16_383]);
    const [first, second] = servers;
    const server = new RedisLimitServer({
      url: `redis+cluster://127.0.0.1:${first?.port}`,
      keyPrefix: 'test:',
      connectTimeoutMs: 1_000,
    });
    try {
      expect(await server.connect(5_000)).toBe(true);
      expect(await server.memory()).toMatchObject({ maxBytes: undefined, policy: 'noeviction' });
      await first?.command('CONFIG', 'SET', 'maxmemory', '900mb');
      await second?.command('CONFIG', 'SET', 'maxmemory', '300mb');
      expect(await server.memory()).toMatchObject({ maxBytes: 300 * 1_048_576 });
      await second?.command('CONFIG', 'SET', 'maxmemory', '0');
      expect(await server.memory()).toMatchObject({ maxBytes: 900 * 1_048_576 });
    } finally {
      server.close();
      for (const each of servers) await each.close();
    }
  });

  it('counters of a cluster are each on the server that has their slot', async () => {
    const servers = await startCluster([0, 8_191], [8_192, 16_383]);
    try {
      const store = await openStore(`redis+cluster://127.0.0.1:${servers[1]?.port}`);
      const rule = ruleOf({ requests: 2, windowMs: 1_000 * quietWindowSecs() });
      for (let subject = 0; subject < 20; subject++) {
        const admitted: boolean[] = [];
        for (let index = 0; index < 3; index++) {
          admitted.push((await store.take(rule, String(subject), now())).admitted);
        }
        expect(admitted).toEqual([true, true, false]);
      }
      expect(store.counts).toMatchObject({ failed: 0, share: 0 });
      for (const server of servers) {
        expect(await server.command('KEYS', 'test:limit:*')).toContain('test:limit:{');
      }
    } finally {
      for (const server of servers) await server.close();
    }
  });

  it('a slot of a cluster that is on its way, or that no server has for a while, costs its own counters alone', async () => {
    const servers = await startCluster([0, 8_191], [8_192, 16_383]);
    try {
      const [first, second] = servers;
      const store = await openStore(`redis+cluster://127.0.0.1:${first?.port}`, { count: 2, rank: 0 }, 300);
      const rule = ruleOf({ requests: 1_000_000, windowMs: 1_000 * quietWindowSecs() }, { mode: 'exact' });
      /** How many of 40 counters go by their share, which is half of it. */
      const withoutStore = async (): Promise<number> => {
        const counts = Array.from({ length: 40 }, async (_, subject) =>
          store.take(rule, String(subject), now()),
        );
        return (await Promise.all(counts)).filter(({ remaining }) => remaining < 500_000).length;
      };
      expect(await withoutStore()).toBe(0);
      const idOf = async (server?: TestRedis) =>
        /[0-9a-f]{40}/.exec((await server?.command('CLUSTER', 'MYID')) ?? '')?.[0] ?? '';
      const keys = (await first?.command('KEYS', 'test:limit:*'))?.match(/test:limit:\S+/g) ?? [];
      const [lost = '', moved = ''] = await Promise.all(
        keys.map(
          async (key) => /\d+/.exec((await first?.command('CLUSTER', 'KEYSLOT', key)) ?? '')?.[0] ?? '',
        ),
      );
      // No server has the slot; a server that has no slots gets the other one.
      for (const server of [first, second]) await server?.command('CLUSTER', 'DELSLOTS', lost);
      expect(await withoutStore()).toBe(1);
      const added = await startClusterServer(servers);
      await until(async () => (await added.command('CLUSTER', 'INFO')).includes('cluster_state:ok'));
      await added.command('CLUSTER', 'SETSLOT', moved, 'IMPORTING', await idOf(first));
      await first?.command('CLUSTER', 'SETSLOT', moved, 'MIGRATING', await idOf(added));
      await first?.command('MIGRATE', '127.0.0.1', String(added.port), keys[1] ?? '', '0', '1000');
      expect(await withoutStore()).toBe(2);
      for (const server of [added, first, second])
        await server?.command('CLUSTER', 'SETSLOT', moved, 'NODE', await idOf(added));
      await until(async () => (await withoutStore()) === 1);
      await first?.command('CLUSTER', 'ADDSLOTS', lost);
      await until(async () => (await withoutStore()) === 0);
      expect(told.outages).toEqual([]);
      for (const refusal of told.refusals)
        expect(refusal).toMatch(
          /^(?:CLUSTERDOWN .*; no server .* has its slot|ASK .*; the cluster is moving its slot)/,
        );
    } finally {
      for (const server of servers) await server.close();
    }
  });

  it.each(['stopped', 'frozen'] as const)(
    'of a cluster one server that is %s costs the counters of the others nothing',
    async (how) => {
      const servers = await startCluster([0, 8_191], [8_192, 16_383]);
      const [lost, kept] = servers;
      try {
        const store = await openStore(`redis+cluster://127.0.0.1:${kept?.port}`, { count: 2, rank: 0 }, 300);
        const rule = ruleOf({ requests: 1_000_000, windowMs: 1_000 * quietWindowSecs() }, { mode: 'exact' });
        const subjects = Array.from({ length: 40 }, (_, index) => String(index));
        /** Of each subject, whether the store has counted it. */
        const askAll = (): Promise<boolean[]> =>
          Promise.all(
            subjects.map(async (subject) => {
              const { remaining, admitted } = await store.take(rule, subject, now());
              expect(admitted).toBe(true);
              // A share is half of it.
              return remaining > 500_000;
            }),
          );
        expect(await askAll()).not.toContain(false);
        const keptKeys = await kept?.command('DBSIZE');
        if (how === 'stopped') await lost?.stop();
        else lost?.freeze();
        for (let round = 0; round < 5; round++) {
          const counted = (await askAll()).filter(Boolean).length;
          expect(counted).toBeGreaterThan(5);
          expect(counted).toBeLessThan(35);
          expect(store.isConnected).toBe(true);
        }
        expect(keptKeys).not.toBe(':0\r\n');
      } finally {
        lost?.thaw();
        for (const server of servers) await server.close();
      }
    },
  );

  it.each([
    { name: 'more permits than were asked for', numbers: [4, 1_000, 0, 1_000, 1_000, 1], isTaken: false },
    { name: 'a negative time', numbers: [1, 5, 0, -1, 1_000, 1], isTaken: false },
    { name: 'what may be', numbers: [3, 5, 0, 1_000, 1_000, 1], isTaken: true },
  ])('of a server that answers $name nothing is taken unless it may be', async ({ numbers, isTaken }) => {
    const grant = `*6\r\n${numbers.map((number) => `:${number}\r\n`).join('')}`;
    const peer = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .on('data', (bytes) => {
          const text = bytes.toString();
          socket.write(text.includes('EVALSHA') ? grant : '+OK\r\n'.repeat(text.match(/^\*/gm)?.length ?? 0));
        }),
    ).listen(0, '127.0.0.1');
    await once(peer, 'listening');
    const { port } = peer.address() as AddressInfo;
    const url = `redis://127.0.0.1:${port}`;
    const server = new RedisLimitServer({ url, keyPrefix: 'test:', connectTimeoutMs: 1_000 });
    try {
      expect(await server.connect(5_000)).toBe(true);
      const asked = { ...NOTHING_ASKED, rule: ruleOf(), key: 'a', leaseMs: 100, need: 1, extra: 2 };
      const [reply, reason] = await new Promise<[unknown, string]>((done) =>
        server.grant(asked, (...answer) => done([answer[0], answer[1]])),
      );
      expect(reply !== undefined).toBe(isTaken);
      expect(reason).toBe('unexpected answer of the script');
    } finally {
      server.close();
      peer.close();
    }
  });

  it('a connection that is given up while it is being made is closed', async () => {
    const live = new Set<Socket>();
    const listener = createServer((socket) => {
      live.add(socket);
      socket.on('error', () => undefined).on('close', () => live.delete(socket));
      socket.pipe(connectTo(redis.port, '127.0.0.1').on('error', () => socket.destroy())).pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const server = new RedisLimitServer({
      url: `redis://127.0.0.1:${port}`,
      keyPrefix: 'test:',
      connectTimeoutMs: 1_000,
    });
    const opening = server.connect(1_000);
    for (let turn = 0; turn < 3; turn++) server.reconnect();
    server.close();
    await opening;
    await pause(200);
    expect(live.size).toBe(0);
    listener.close();
  });

  it('a primary is found by its Sentinels', async () => {
    const sentinel = await startSentinel(redis.port);
    try {
      const store = await openStore(sentinel.url);
      const rule = ruleOf({ requests: 1 });
      expect((await store.take(rule, '', now())).admitted).toBe(true);
      expect((await store.take(rule, '', now())).admitted).toBe(false);
    } finally {
      sentinel.close();
    }
  });

  it('the replica that Sentinels promote continues when the primary was killed', async () => {
    const primary = await startRedis(['--repl-diskless-sync-delay', '0']);
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]);
    let sentinel: { readonly url: string; close(): void } | undefined;
    try {
      await until(async () => (await replica.command('INFO', 'replication')).includes('link_status:up'));
      sentinel = await startSentinel(primary.port, replica.port);
      const store = await openStore(sentinel.url, { count: 2, rank: 0 }, 200);
      expect(await opened.at(-1)?.server.memory()).toMatchObject({ policy: 'noeviction' });
      const rule = ruleOf({ requests: 10, windowMs: 1_000 * quietWindowSecs() }, { mode: 'exact' });
      let admitted = 0;
      const ask = async (): Promise<void> => {
        if ((await store.take(rule, '', now())).admitted) admitted += 1;
      };
      for (let index = 0; index < 5; index++) await ask();
      expect(admitted).toBe(5);
      // WAIT waits for the writes of its own connection only, and these came over another one.
      const countOf = "return redis.call('HGET', redis.call('KEYS', 'test:limit:*')[1] or '-', 'c') or '0'";
      await until(async () => (await replica.command('EVAL', countOf, '0')).includes('\r\n5\r\n'));
      process.kill(primary.pid, 'SIGKILL');
      await until(async () => {
        await ask();
        return !store.isConnected;
      });
      // The Sentinel ends the connections of all clients of the one that it promotes.
      const role = (): Promise<string> => replica.command('ROLE').catch(() => '');
      await until(async () => (await role()).includes('master'));
      const promotedMs = awakeMs();
      await until(() => store.isConnected);
      expect(awakeMs() - promotedMs).toBeLessThanOrEqual(5_000);
      // The client looks at the servers anew once more when the Sentinel tells of the change, and that may be an
      // outage.
      await until(async () => {
        await ask();
        return admitted >= 10;
      });
      for (let index = 0; index < 20; index++) await ask();
      expect(admitted).toBe(10);
    } finally {
      sentinel?.close();
      await Promise.all([primary.close(), replica.close()]);
    }
  });
});

/** Servers that are one cluster; each has the slots from the first to the last one given. */
async function startCluster(...slots: readonly (readonly [number, number])[]): Promise<TestRedis[]> {
  const servers: TestRedis[] = [];
  try {
    for (const [from, to] of slots) {
      const server = await startClusterServer(servers);
      expect(await server.command('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))).toContain('OK');
    }
    const isWhole = async (server: TestRedis): Promise<boolean> => {
      const info = await server.command('CLUSTER', 'INFO');
      return info.includes('cluster_state:ok') && info.includes('cluster_slots_assigned:16384');
    };
    for (const server of servers) await until(() => isWhole(server));
  } catch (error) {
    for (const server of servers) await server.close();
    throw error;
  }
  return servers;
}

/** Meets the first of the servers, and becomes one of them; it has no slots yet. */
async function startClusterServer(servers: TestRedis[]): Promise<TestRedis> {
  // By default it is the port of clients and 10,000 more, which there need not be.
  const busPort = String(await freePort());
  const server = await startRedis([
    '--cluster-enabled',
    'yes',
    '--cluster-require-full-coverage',
    'no',
    '--cluster-port',
    busPort,
  ]);
  await servers[0]?.command('CLUSTER', 'MEET', '127.0.0.1', String(server.port), busPort);
  servers.push(server);
  const isKnown = async (each: TestRedis): Promise<boolean> =>
    (await each.command('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${servers.length}\r\n`);
  for (const each of servers) await until(() => isKnown(each));
  return server;
}

/** One that decides alone, soon after the primary is silent; resolves once it knows the servers that it has to. */
async function startSentinel(primaryPort: number, replicaPort?: number) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor main 127.0.0.1 ${primaryPort} 1`,
    // A machine that stands still for a moment is no primary that is gone.
    'sentinel down-after-milliseconds main 1500',
    'sentinel failover-timeout main 3000',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const sentinel: ChildProcess = spawn(redisProgram(), [file, '--sentinel'], {
    cwd: folder,
    env: plainEnvironment(folder),
    stdio: 'ignore',
  });
  const close = (): void => {
    sentinel.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  const knows = async (command: string, wanted: number): Promise<boolean> =>
    (await redisCommand(port, ['SENTINEL', command, 'main']).catch(() => '')).includes(String(wanted));
  try {
    await until(() => knows('GET-MASTER-ADDR-BY-NAME', primaryPort));
    if (replicaPort !== undefined) await until(() => knows('REPLICAS', replicaPort));
  } catch (error) {
    close();
    throw error;
  }
  return { url: `redis+sentinel://127.0.0.1:${port}/main`, close };
}

describe('subjects from outside', () => {
  it.each([
    '',
    'a b',
    '}{',
    'x\r\nFLUSHALL\r\n',
    "'); redis.call('FLUSHALL') --",
    '\u0000',
    'ü'.repeat(10_000),
  ])('are nothing but names: %j', async (subject) => {
    const store = await openStore();
    const rule = ruleOf({ requests: 1 });
    await redis.command('SET', 'test:witness', '1');
    expect((await store.take(rule, subject, now())).admitted).toBe(true);
    expect((await store.take(rule, subject, now())).admitted).toBe(false);
    expect((await store.take(rule, `${subject}.`, now())).admitted).toBe(true);
    expect(await redis.command('EXISTS', 'test:witness')).toBe(':1\r\n');
  });
});
