/**
 * Several gateways on one PostgreSQL database: a write through any of them is obeyed by all when it is answered, and
 * what becomes of that when one is frozen, killed or cut off.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { alternate } from '../../scenarios/nodes-scenario.ts';
import {
  listNodes,
  makeService,
  NODES_APPLIED,
  readNumber,
  SECRET_KEY,
  startNode,
  startNodesRig,
  traffic,
  writeNumber,
  type NodesRig,
} from '../../support/nodes.ts';
import type { Origin } from '../../support/backends/origin.ts';
import type { PostgresServer } from '../../support/programs/postgres.ts';
import { startTcpRelay, type TcpRelay } from '../../support/backends/tcp-relay.ts';
import { awakeMs } from '../../support/measure/steady.ts';

const TIMEOUT_MS = 180_000;
/** Through one and the other by turns; nodes.soak.ts makes a thousand. */
const WRITES = 20;
/** At once, through both. */
const PARALLEL = 20;
const WRITE_WAIT_MS = 1_500;
const NODE_TIMEOUT_MS = 3_000;
const CLUSTER = {
  GATEWAY_CLUSTER__HEARTBEAT_MS: '200',
  GATEWAY_CLUSTER__NODE_TIMEOUT_MS: String(NODE_TIMEOUT_MS),
  GATEWAY_CLUSTER__WRITE_WAIT_MS: String(WRITE_WAIT_MS),
};

/** For what a busy machine takes long for, and which is about something else than time. */
const PATIENT = { GATEWAY_DATABASE__TIMEOUT_MS: '20000', GATEWAY_CLUSTER__WRITE_WAIT_MS: '20000' };
/** For what is not about requests. */
const ONE_WORKER = { GATEWAY_WORKERS: '1' };

let rig: NodesRig;
let server: PostgresServer;
let origin: Origin;
let folder: string;
beforeAll(async () => {
  rig = await startNodesRig();
  ({ server, origin, folder } = rig);
});
afterAll(() => rig.close());

describe('two gateways', () => {
  let a: TestGateway;
  let b: TestGateway;
  let relay: TcpRelay;
  let url: string;
  beforeAll(async () => {
    url = await server.createDatabase();
    relay = await startTcpRelay(server.port);
    a = await startNode({ url, folder, name: 'a', env: CLUSTER });
    const throughRelay = url.replace(`:${server.port}/`, `:${relay.port}/`);
    b = await startNode({ url: throughRelay, folder, name: 'b', env: CLUSTER });
    await makeService(a, origin);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await a.stop();
    await b.kill();
    relay.close();
  });

  test(
    'see each other, and both have applied a write when it is answered, at any load',
    async () => {
      expect(await listNodes(b)).toMatchObject({ a: { state: 'live' }, b: { state: 'live' } });
      const result = await alternate([a, b], WRITES, 10);
      expect(result).toMatchObject({ writes: WRITES, stale: 0, unapplied: [], failed: [] });
      expect(result.requests).toBeGreaterThan(WRITES);
      const { config_version: latest } = await b.must('GET', '/nodes');
      expect(await listNodes(a)).toEqual({
        a: { state: 'live', config_version: latest },
        b: { state: 'live', config_version: latest },
      });
    },
    TIMEOUT_MS,
  );

  test(
    'take parallel writes as one sequence of versions; If-Match holds over both',
    async () => {
      const { config_version: before } = await a.must('GET', '/nodes');
      const made = await Promise.all(
        Array.from({ length: PARALLEL }, (_, index) =>
          (index % 2 === 0 ? a : b).api('POST', '/apps', {
            name: 'many',
            slug: `many-${index}`,
            gateway_path: `/many-${index}`,
          }),
        ),
      );
      expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
      const audit = await b.must('GET', `/audit?limit=${PARALLEL}&order=newest_first`);
      const versions = (audit as { config_version: number }[]).map((entry) => entry.config_version);
      expect(versions.toReversed()).toEqual(
        Array.from({ length: PARALLEL }, (_, index) => Number(before) + 1 + index),
      );

      const tag = (await a.api('GET', '/apps/many-0')).headers.get('etag') ?? '';
      const both = await Promise.all(
        [a, b].map((node) => node.api('PATCH', '/apps/many-0', { name: node.base }, { 'If-Match': tag })),
      );
      expect(both.map(({ status }) => status).toSorted((x, y) => x - y)).toEqual([200, 412]);
      const taken = await b.api('POST', '/apps', { name: 'x', slug: 'many-1', gateway_path: '/elsewhere' });
      expect(taken.status).toBe(409);
    },
    TIMEOUT_MS,
  );

  test(
    'keys, cascades and deletions reach both, and counts of a key add up',
    async () => {
      await a.must('PATCH', '/apps/svc', { default_policy: { auth: { auth_type: 'api_key' } } });
      const { token, id } = await b.must('POST', '/apps/svc/tokens', { name: 'k' });
      const asked = (node: TestGateway): Promise<number> =>
        fetch(`${node.proxy}/svc/v1/x`, { headers: { authorization: `Bearer ${token}` } }).then(
          (r) => r.status,
        );
      expect([await asked(a), await asked(b)]).toEqual([200, 200]);
      const usage = async (): Promise<number> =>
        (await a.must('GET', `/apps/svc/tokens/${id}/usage`)).totals.allowed as number;
      await expect.poll(usage, { interval: 250 }).toBe(2);
      const lastUse = async () => (await b.must('GET', `/apps/svc/tokens/${id}`)).last_used_at;
      await expect.poll(lastUse).not.toBeNull();
      expect((await a.api('DELETE', `/apps/svc/tokens/${id}`)).headers.get(NODES_APPLIED)).toBe('2/2');
      expect([await asked(a), await asked(b)]).toEqual([401, 401]);
      await b.must('PATCH', '/apps/svc', { default_policy: null });
      expect(await readNumber(a)).toBe(WRITES);
      await b.must('DELETE', '/apps/many-1?cascade=true');
      expect((await a.api('GET', '/apps/many-1')).status).toBe(404);
    },
    TIMEOUT_MS,
  );

  test(
    'a gateway that is cut off from the database continues to serve, delays no writes, and catches up',
    async () => {
      const load = traffic([a, b]);
      relay.swallow();
      const first = await writeNumber(a, 1_000);
      expect(first).toMatchObject({ status: 200, applied: '1/2' });
      expect(first.tookMs).toBeGreaterThan(WRITE_WAIT_MS - 50);
      const second = await writeNumber(a, 1_001);
      expect(second).toMatchObject({ status: 200, applied: '1/2' });
      expect(second.awakeMs, 'it is waited for once').toBeLessThan(WRITE_WAIT_MS);
      const refusedMs = awakeMs();
      expect((await writeNumber(b, 1)).status).toBe(503);
      expect(awakeMs() - refusedMs).toBeLessThan(2_000);
      await expect.poll(() => listNodes(a).then(Object.keys)).toEqual(['a']);
      expect((await writeNumber(a, 1_002)).applied).toBe('1/1');
      expect(await readNumber(b), 'what it had').toBe(WRITES);
      relay.heal();
      await expect.poll(() => readNumber(b)).toBe(1_002);
      await expect.poll(async () => (await writeNumber(b, 1_003)).applied).toBe('2/2');
      expect(await readNumber(a)).toBe(1_003);
      expect((await load.stop()).failed).toEqual([]);
      expect(b.output(), 'only what it missed').not.toMatch(/whole configuration was read again/);
    },
    TIMEOUT_MS,
  );

  test(
    'one that is frozen costs a write the bound, once',
    async () => {
      b.process.kill('SIGSTOP');
      try {
        const first = await writeNumber(a, 2_000);
        expect(first).toMatchObject({ status: 200, applied: '1/2' });
        // And not until it counts as gone.
        expect(first.awakeMs).toBeLessThan(NODE_TIMEOUT_MS);
        const second = await writeNumber(a, 2_001);
        expect(second.awakeMs).toBeLessThan(WRITE_WAIT_MS);
      } finally {
        b.process.kill('SIGCONT');
      }
      await expect.poll(() => readNumber(b)).toBe(2_001);
      await expect.poll(async () => (await writeNumber(a, 2_002)).applied).toBe('2/2');
    },
    TIMEOUT_MS,
  );

  test(
    'one that is killed in the middle of writes has lost none that was answered, and drops out',
    async () => {
      const load = traffic([a]);
      let answered = 0;
      const writing = (async () => {
        for (let number = 3_000; number < 3_500; number++) {
          const done = await writeNumber(b, number).catch(() => undefined);
          if (done === undefined) return;
          if (done.status === 200) answered = number;
        }
      })();
      await expect.poll(() => answered).toBeGreaterThan(3_005);
      b.process.kill('SIGKILL');
      await writing;
      // The one after the last answer may have been stored, too.
      await expect.poll(() => readNumber(a)).toBeGreaterThanOrEqual(answered);
      expect(await readNumber(a)).toBeLessThanOrEqual(answered + 1);
      await expect.poll(() => listNodes(a).then(Object.keys)).toEqual(['a']);
      expect(await writeNumber(a, 4_000)).toMatchObject({ status: 200, applied: '1/1' });
      expect((await load.stop()).failed).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe('two that start at once on an empty database, without a secret key', () => {
  let url: string;
  let c: TestGateway;
  let d: TestGateway;
  let authorization: string;
  beforeAll(async () => {
    url = await server.createDatabase();
    const env = { ...CLUSTER, ...ONE_WORKER, GATEWAY_ADMIN_TOKEN: '', GATEWAY_SECRET_KEY: '' };
    [c, d] = await Promise.all(
      ['c', 'd'].map((name) => startNode({ url, folder, name, env })) as [
        Promise<TestGateway>,
        Promise<TestGateway>,
      ],
    );
  }, TIMEOUT_MS);
  afterAll(async () => {
    await c?.kill();
    await d?.kill();
  });

  test('make one first admin token and one schema', async () => {
    const tokens = [c, d].flatMap((node) => /hga_[\w-]+/.exec(node.output())?.[0] ?? []);
    expect(tokens).toHaveLength(1);
    authorization = `Bearer ${tokens[0]}`;
    for (const node of [c, d]) {
      const answer = await node.api('GET', '/nodes', undefined, { authorization });
      expect(answer.body.data.nodes).toHaveLength(2);
    }
  });

  test(
    'refuse a secret with the setting to change, and a start with a key is refused',
    async () => {
      await expect.poll(() => c.output()).toMatch(/GATEWAY_SECRET_KEY is not set/);
      const policy = { auth: { auth_type: 'jwt', jwt: { secret: 'x'.repeat(32), algorithms: ['HS256'] } } };
      const input = { name: 'e', slug: 'e', gateway_path: '/e', default_policy: policy };
      const refused = await c.api('POST', '/apps', input, { authorization });
      expect(refused.body).toMatchObject({ status: 422, code: 'validation_failed' });
      expect(refused.body.detail).toMatch(/GATEWAY_SECRET_KEY to be set to the same key on every gateway/);
      const env = { GATEWAY_DATABASE_URL: url, GATEWAY_SECRET_KEY: SECRET_KEY, GATEWAY_SNAPSHOT_FILE: 'off' };
      const other = await runToEnd(env, [], { cwd: folder });
      expect(other.code).toBe(1);
      expect(other.output).toMatch(
        /"[cd]" has a different GATEWAY_SECRET_KEY; expected the same key on every gateway/,
      );
    },
    TIMEOUT_MS,
  );

  test('are the only two until one of them stops', async () => {
    const names = async (): Promise<string[]> => {
      const { body } = await d.api('GET', '/nodes', undefined, { authorization });
      return body.data.nodes.map(({ name }: { readonly name: string }) => name).toSorted();
    };
    expect(await names()).toEqual(['c', 'd']);
    expect(await c.stop()).toBe(0);
    expect(await names()).toEqual(['d']);
    expect(await d.stop()).toBe(0);
  });
});

test(
  'the secret key is changed at one gateway after the other, while both serve and are written to',
  async () => {
    const url = await server.createDatabase();
    const next = 'a'.repeat(64);
    const start = (name: string, ...keys: string[]): Promise<TestGateway> =>
      startNode({
        url,
        folder,
        name,
        env: { ...CLUSTER, ...PATIENT, ...ONE_WORKER, GATEWAY_SECRET_KEY: keys.join() },
      });
    let [a, b] = [await start('key a', SECRET_KEY), await start('key b', SECRET_KEY)];
    let secrets = 0;
    /** Each gateway stores a secret, and both read and serve what the other one has stored. */
    const write = async (): Promise<void> => {
      for (const [writer, reader] of [
        [a, b],
        [b, a],
      ] as const) {
        secrets += 1;
        const secret = `secret number ${secrets} `.padEnd(40, 'x');
        const input = { name: 's', slug: `s${secrets}`, gateway_path: `/s${secrets}` };
        const policy = { auth: { auth_type: 'jwt', jwt: { secret } } };
        const made = await writer.api('POST', '/apps', { ...input, default_policy: policy });
        expect([made.status, made.headers.get(NODES_APPLIED)], JSON.stringify(made.body)).toEqual([
          201,
          '2/2',
        ]);
        for (let number = 1; number <= secrets; number++)
          expect((await reader.api('GET', `/apps/s${number}`)).status).toBe(200);
      }
    };
    const change = async (...keys: string[]): Promise<void> => {
      await a.stop();
      a = await start('key a', ...keys);
      await write();
      await b.stop();
      b = await start('key b', ...keys);
      await write();
    };
    try {
      await write();
      const early = await runToEnd(
        {
          GATEWAY_DATABASE_URL: url,
          GATEWAY_SECRET_KEY: `${next},${SECRET_KEY}`,
          GATEWAY_SNAPSHOT_FILE: 'off',
        },
        [],
        { cwd: folder },
      );
      expect(early.output).toMatch(
        /"key a" has a different .* first add the new key behind the present one on every/,
      );
      await change(SECRET_KEY, next);
      await change(next, SECRET_KEY);
      const { values } = await b.must('POST', '/secrets/rekey');
      expect(values.map(({ state }: { readonly state: string }) => state)).toEqual(['current', 'current']);
      // The other one still accepts the old key, which is needed no more.
      await a.stop();
      a = await start('key a', next);
      await write();
    } finally {
      for (const node of [a, b]) await node.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'on SQLite there is one node, and every write says so',
  async () => {
    const single = await startGateway({ env: { GATEWAY_CLUSTER__NODE_NAME: 'only' } });
    try {
      const made = await single.api('POST', '/apps', { name: 's', slug: 's', gateway_path: '/s' });
      expect(made.headers.get(NODES_APPLIED)).toBe('1/1');
      const same = await single.api('PATCH', '/apps/s', { name: 's' });
      expect(same.headers.get(NODES_APPLIED)).toBe('1/1');
      const dry = await single.api('PATCH', '/apps/s?dry_run=true', { name: 't' });
      expect(dry.headers.get(NODES_APPLIED)).toBeNull();
      expect((await single.api('GET', '/apps/s')).headers.get(NODES_APPLIED)).toBeNull();
      expect(await listNodes(single)).toEqual({ only: { state: 'live', config_version: 1 } });
      expect(await single.must('GET', '/nodes')).toMatchObject({
        config_version: 1,
        nodes: [{ is_self: true }],
      });
    } finally {
      await single.stop();
    }
  },
  TIMEOUT_MS,
);
