/**
 * For tests of `headgate copy`: a gateway with a record of every kind in every shape, what it answers, and databases
 * of many keys.
 */
import { DatabaseSync } from 'node:sqlite';
import { runToEnd, type TestGateway } from '../support/gateway.ts';
import { SECRET, signed } from '../support/data/jwts.ts';
import { createEndpoint, createRevision, createService, createVersion } from '../support/traffic.ts';

/** What clients of the gateway hold, and must go on working. */
export interface Credentials {
  readonly key: string;
  readonly rotatedKey: string;
  readonly keyBeforeRotation: string;
  readonly viewer: string;
}

export async function fillGateway(gateway: TestGateway, originPort: number): Promise<Credentials> {
  await createService(gateway, 'shop', originPort, {
    app: {
      description: 'Überall – 店 "quoted" \\ \n',
      labels: { team: 'a' },
      allow_encoded_slashes: true,
      default_policy: {
        auth: { auth_type: 'api_key' },
        rate_limit: { enabled: true, requests: 1_000, window_seconds: 60 },
      },
    },
    revision: { traffic_weight: 3, circuit_breaker: { failures: 7 } },
  });
  await createRevision(gateway, 'shop', originPort, { revision: 'canary', traffic_weight: 1 });
  await createVersion(gateway, 'shop', 'old', { status: 'deprecated', sunset_at: '2030-01-01T00:00:00Z' });
  await createEndpoint(gateway, 'shop', 'GET', '/items/{id}', {
    backend_path: '/i/{id}',
    policy_override: { required_scopes: ['read'] },
  });
  await createService(gateway, 'hosted', originPort, { app: { hosts: ['copied.test', '*.copied.test'] } });
  await createService(gateway, 'signed', originPort, {
    app: { default_policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } } },
  });
  const key = await gateway.must('POST', '/apps/shop/tokens', { name: 'plain', scopes: ['read', 'ü'] });
  const rotated = await gateway.must('POST', '/apps/shop/tokens', {
    name: 'rotated',
    scopes: [],
    rate_limit: { enabled: true, requests: 77, window_seconds: 60 },
  });
  const again = await gateway.must('POST', `/apps/shop/tokens/${rotated.id}/rotate`, { overlap_secs: 3_600 });
  const viewer = await gateway.must('POST', '/admin/tokens', { name: 'viewer', role: 'viewer' });
  return {
    key: key.token,
    rotatedKey: again.token,
    keyBeforeRotation: rotated.token,
    viewer: viewer.token,
  };
}

/** Statuses of one request with each credential, and with wrong ones. */
export async function useCredentials(
  gateway: TestGateway,
  has: Credentials,
): Promise<Record<string, number>> {
  const tokens = {
    key: ['/shop/v1/items/1', has.key],
    noScope: ['/shop/v1/items/1', has.rotatedKey],
    rotated: ['/shop/v1/other', has.rotatedKey],
    beforeRotation: ['/shop/v1/other', has.keyBeforeRotation],
    wrongKey: ['/shop/v1/other', has.key.slice(0, -1) + (has.key.endsWith('_') ? '-' : '_')],
    jwt: ['/signed/v1/', await signed({ sub: 'me' })],
    wrongJwt: ['/signed/v1/', await signed({ sub: 'me' }, { key: Buffer.alloc(64) as never })],
  } as const;
  const statuses: Record<string, number> = {};
  for (const [name, [path, token]] of Object.entries(tokens)) {
    const response = await fetch(gateway.proxy + path, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    statuses[name] = response.status;
  }
  const asViewer = await gateway.api('GET', '/apps', undefined, { authorization: `Bearer ${has.viewer}` });
  return { ...statuses, viewer: asViewer.status };
}

/** Every record that the management API gives, by path; with the whole audit trail. */
export async function everythingOf(gateway: TestGateway): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const list = async (path: string): Promise<readonly { readonly id: string }[]> => {
    const { body } = await gateway.api('GET', `${path}?limit=500`);
    found[path] = [body.data, body.page];
    return body.data;
  };
  for (const app of await list('/apps')) {
    for (const version of await list(`/apps/${app.id}/versions`)) {
      const revisions = `/apps/${app.id}/versions/${version.id}/revisions`;
      for (const { id } of await list(revisions)) await list(`${revisions}/${id}/endpoints`);
    }
    for (const { id } of await list(`/apps/${app.id}/tokens`)) {
      const usage = `/apps/${app.id}/tokens/${id}/usage`;
      found[usage] = await gateway.must('GET', usage);
    }
  }
  await list('/admin/tokens');
  await list('/audit');
  return found;
}

/** A database file with one app and so many keys. */
export async function makeKeys(path: string, count: number): Promise<void> {
  const { code, output } = await runToEnd({ GATEWAY_DATABASE_URL: `sqlite://${path}` }, ['migrate']);
  if (code !== 0) throw new Error(output);
  const db = new DatabaseSync(path);
  db.exec(`
    insert into app (id, name, slug, gateway_path, routing_mode, labels, allow_encoded_slashes, created_at, updated_at)
    values ('a', 'Many', 'many', '/many', 'pass_through', '{}', 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
    insert into api_key (id, app_id, name, scopes, token_prefix, is_active, token_hash, created_at, updated_at)
    with recursive number (i) as (select 1 union all select i + 1 from number where i < ${count})
    select printf('k%010d', i), 'a', 'key ' || i, '["read"]', 'hgk_abc', 1, printf('%064x', i * 7919),
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' from number;
    update config_state set config_version = ${count}`);
  db.close();
}
