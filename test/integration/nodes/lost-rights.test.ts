/**
 * The user of a gateway loses rights on tables of its PostgreSQL database. Traffic goes on; the gateway says what is
 * refused, and takes that back when the rights are there again.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NodeState } from '../../../src/management/schemas/overview/state-schema.ts';
import { runToEnd, type TestGateway } from '../../support/gateway.ts';
import { makeService, SECRET_KEY, startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { request } from '../../support/traffic.ts';

let rig: NodesRig;
let gateway: TestGateway;
let owner: string;
beforeAll(async () => {
  rig = await startNodesRig();
  owner = await rig.server.createDatabase();
  await runToEnd({ GATEWAY_DATABASE_URL: owner, GATEWAY_SECRET_KEY: SECRET_KEY }, ['migrate']);
  const schema = /search_path=(\w+)/.exec(new URL(owner).searchParams.get('options') ?? '')?.[1] ?? 'public';
  await sql(`create role gateway login; grant usage on schema ${schema} to gateway;
    grant select, insert, update, delete on all tables in schema ${schema} to gateway`);
  const url = new URL(owner);
  url.username = 'gateway';
  const env = {
    GATEWAY_AUTO_MIGRATE: 'false',
    GATEWAY_CLUSTER__HEARTBEAT_MS: '200',
    GATEWAY_WORKERS: '1',
  };
  gateway = await startNode({ url: url.href, folder: rig.folder, name: 'a', env });
  await makeService(gateway, rig.origin);
}, 90_000);
afterAll(async () => {
  await gateway.kill();
  await rig.close();
});

const sql = (text: string): Promise<unknown> => rig.server.query(owner, text);
const change = async (): Promise<number> =>
  (await gateway.api('PATCH', '/apps/svc', { description: 'x' })).status;
const logged = (text: string): number => gateway.output().split(text).length - 1;

async function problems(): Promise<Record<string, string>> {
  const found = (await gateway.must('GET', '/problems')) as { code: string; detail: string }[];
  return Object.fromEntries(found.map(({ code, detail }) => [code, detail]));
}

/** Always 200: traffic is served. */
async function reason(): Promise<string | null> {
  const answer = await fetch(`${gateway.base}/readyz`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: { reason: string | null } }).data.reason;
}

const SOON = { timeout: 15_000, interval: 200 };

it.each([
  ['event', 'insert'],
  ['audit_entry', 'insert'],
  ['config_change', 'delete'],
  ['revision', 'update'],
  ['config_history_record', 'insert'],
])(
  'a privilege for %s that every write needs: the database cannot be written',
  { timeout: 60_000 },
  async (table, privilege) => {
    expect([await problems(), await reason()]).toEqual([{}, null]);
    const before = logged('the database cannot be written');
    await sql(`revoke ${privilege} on ${table} from gateway`);
    // Before a write or a probe has failed.
    await expect.poll(() => logged('the database cannot be written'), SOON).toBe(before + 1);
    expect(await problems()).toEqual({
      database_unwritable: expect.stringMatching(
        `^The database cannot be written: the user lacks a privilege in it \\(${privilege.toUpperCase()} on ${table}\\); grant this`,
      ),
    });
    expect(await reason()).toBe('The database cannot be written: the user lacks a privilege in it');
    const [{ state } = { state: undefined }] = (await gateway.must('GET', '/state')) as NodeState[];
    expect(state?.database).toMatchObject({
      state: 'degraded',
      detail: expect.stringContaining(`${privilege.toUpperCase()} on ${table}`),
    });
    expect((await request(gateway, '/svc/v1/x')).status).toBe(200);
    await sql(`grant ${privilege} on ${table} to gateway`);
    await expect
      .poll(async () => [await problems(), await reason(), await change()], SOON)
      .toEqual([{}, null, 200]);
  },
);

it('a privilege that is granted for columns only', { timeout: 60_000 }, async () => {
  const [app] = await rig.server.query(
    owner,
    "select string_agg(quote_ident(attname), ', ') as names from pg_attribute where attrelid = 'app'::regclass and attnum > 0",
  );
  const names = String(app?.['names']);
  await sql(
    'revoke update on config_state from gateway; grant update (config_version) on config_state to gateway',
  );
  await sql(`revoke insert on app from gateway; grant insert (${names}) on app to gateway`);
  const before = logged('the database cannot be written');
  const named = (name: string) => ({ name, slug: name, gateway_path: `/${name}` });
  expect((await gateway.api('POST', '/apps', named('granted'))).status, 'PostgreSQL allows it').toBe(201);
  // Longer than the gateway asks for privileges by itself.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  expect([await problems(), await reason()]).toEqual([{}, null]);
  expect(logged('the database cannot be written')).toBe(before);
  // Without the privilege for a column that the write names, the refusal shows.
  await sql('revoke insert (slug) on app from gateway');
  expect((await gateway.api('POST', '/apps', named('refused'))).status).toBe(503);
  await expect
    .poll(problems, SOON)
    .toEqual({ database_unwritable: expect.stringContaining('permission denied for table app') });
  await sql('grant insert on app to gateway; grant update on config_state to gateway');
  await expect
    .poll(async () => [await change(), await problems(), await reason()], SOON)
    .toEqual([200, {}, null]);
});

it('a privilege that only some writes need', { timeout: 60_000 }, async () => {
  const webhook = { name: 'w', url: 'http://hook.test/', events: ['*'] };
  const create = async (): Promise<number> => (await gateway.api('POST', '/webhooks', webhook)).status;
  await sql('revoke insert on webhook from gateway');
  expect(await reason()).toBeNull();
  const text = 'the database cannot be written';
  const before = logged(text);
  for (let call = 0; call < 3; call++) expect(await create()).toBe(503);
  await expect.poll(reason, SOON).toBe('The database cannot be written: the user lacks a privilege in it');
  expect(await problems()).toEqual({
    database_unwritable: expect.stringContaining('permission denied for table webhook'),
  });
  expect(logged(text), 'for all of them').toBe(before + 1);
  await sql('grant insert on webhook to gateway');
  expect(await create()).toBe(201);
  await expect
    .poll(async () => [await change(), await problems(), await reason()], SOON)
    .toEqual([200, {}, null]);
});

it('the table of gateways: heartbeats fail, and all else works', { timeout: 60_000 }, async () => {
  await sql('revoke update on node from gateway');
  await expect
    .poll(reason, SOON)
    .toBe('The heartbeat of this gateway fails: the user lacks a privilege in it');
  expect(await problems()).toEqual({
    heartbeat_failing: expect.stringContaining('permission denied for table node'),
  });
  expect(
    logged('the database refuses heartbeats: let the user of GATEWAY_DATABASE_URL'),
    'not each time',
  ).toBe(1);
  expect(await change()).toBe(200);
  expect((await request(gateway, '/svc/v1/x')).status).toBe(200);
  await sql('grant update on node to gateway');
  await expect.poll(async () => [await problems(), await reason()], SOON).toEqual([{}, null]);
});
