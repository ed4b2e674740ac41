/**
 * The order of an upgrade (docs/how-to/upgrade-without-a-gap.md): the schema is brought up to date first, while
 * gateways of the version before serve on and take writes; only a start of theirs is refused from then on. What the
 * next version adds is played by hand: a column and a table that this one does not know.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runToEnd, startGateway } from '../../support/gateway.ts';
import { startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { createEndpoint, createService, request, revisionPath } from '../../support/traffic.ts';

const NEXT_VERSION = [
  "insert into schema_migration (name, applied_at) values ('9999-next', '2030-01-01T00:00:00.000Z')",
  ...['app', 'version', 'revision', 'endpoint', 'api_key', 'admin_token', 'audit_entry'].map(
    (table) => `alter table ${table} add column added_next text`,
  ),
  'create table added_next (id text primary key)',
].join('; ');

let rig: NodesRig;
beforeAll(async () => {
  rig = await startNodesRig();
});
afterAll(() => rig.close());

test('a gateway works on with a schema that has grown, and only starts of its version are refused', async () => {
  const { server, origin, folder } = rig;
  const env = {
    GATEWAY_DATABASE_URL: await server.createDatabase(),
    GATEWAY_AUTO_MIGRATE: 'true',
    GATEWAY_SNAPSHOT_FILE: join(folder, 'copy.snapshot'),
  };
  const gateway = await startGateway({ folder, env });
  try {
    await createService(gateway, 'before', origin.port);
    const known = await gateway.must('GET', '/apps/before');
    await server.query(env.GATEWAY_DATABASE_URL, NEXT_VERSION);

    expect((await request(gateway, '/before/v1/x')).status).toBe(200);
    await createService(gateway, 'after', origin.port);
    await createEndpoint(gateway, 'after', 'GET', '/hidden', { is_active: false });
    expect((await request(gateway, '/after/v1/x')).status).toBe(200);
    expect((await request(gateway, '/after/v1/hidden')).status).toBe(404);
    const key = await gateway.must('POST', '/apps/after/tokens', { name: 'k', scopes: [] });
    await gateway.must('PATCH', '/apps/before', { default_policy: { auth: { auth_type: 'api_key' } } });
    expect((await request(gateway, '/before/v1/x')).status).toBe(401);

    // What this version does not know it neither shows nor loses.
    await server.query(env.GATEWAY_DATABASE_URL, "update app set added_next = 'kept'");
    const patched = await gateway.must('PATCH', '/apps/before', { default_policy: null });
    expect(Object.keys(patched).toSorted()).toEqual(Object.keys(known).toSorted());
    expect(Object.keys(await gateway.must('GET', revisionPath('after')))).not.toContain('added_next');
    expect(Object.keys(await gateway.must('GET', `/apps/after/tokens/${key.id}`))).not.toContain(
      'added_next',
    );
    const rows = await server.query(env.GATEWAY_DATABASE_URL, 'select distinct added_next from app');
    expect(rows).toEqual([{ added_next: 'kept' }]);

    // Another node of the version before, which keeps files of its own.
    const beside = { ...env, GATEWAY_SNAPSHOT_FILE: join(folder, 'beside.snapshot') };
    const again = await runToEnd(beside, [], { cwd: folder });
    expect(again.code).toBe(1);
    expect(again.output).toMatch(/its schema is newer than this program \(it has 9999-next\)/);
    expect((await request(gateway, '/before/v1/x')).status).toBe(200);
  } finally {
    await gateway.stop();
  }
}, 60_000);
