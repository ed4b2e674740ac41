/**
 * Contract part 2 "Policy precedence" as effective-policy shows it, and the audit log of all writes, through the
 * started program.
 */
// oxlint-disable vitest/expect-expect -- expectData and expectProblem are assertions
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import {
  apiAs,
  expectData,
  expectPage,
  expectProblem,
  RFC3339_UTC,
  UUID_V7,
} from '../../support/management.ts';
import {
  createApp,
  createRevision,
  createVersion,
  revisionPath,
  versionPath,
} from '../../support/traffic.ts';

/** No server listens there: no request is proxied here. */
const origin = { port: 9 };
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

describe('spec 2: policy precedence, shown by effective-policy', () => {
  const revision = revisionPath('merged');
  const PARTS: Readonly<Record<string, (level: number) => unknown>> = {
    auth: (level) => ({ auth_type: 'api_key', required: level === 1 }),
    required_scopes: (level) => [`s${level}`],
    allowed_methods: (level) => ['GET', `M${level}`],
    rate_limit: (level) => ({ enabled: true, requests: level, window_seconds: 60 }),
    cors: (level) => ({ allowed_origins: [`https://l${level}.example`] }),
    max_body_bytes: (level) => level,
    timeouts: (level) => ({ total_ms: level }),
    retries: (level) => ({ max: level, on: ['connect'] }),
    shadow: (level) => [['auth'], ['rate_limit'], ['required_scopes']][level - 1],
  };
  let ids: Record<string, string> = {};
  let endpoint = '';
  beforeAll(async () => {
    const app = await createApp(gateway, 'merged');
    await createVersion(gateway, 'merged');
    const record = await createRevision(gateway, 'merged', origin.port);
    const registered = await gateway.must('POST', `${revision}/endpoints`, { method: 'GET', path: '/x' });
    ids = { app: app.id, revision: record.id, endpoint: registered.id };
    endpoint = `${revision}/endpoints/${registered.id}`;
  });

  it.each(Object.entries(PARTS))('%s: endpoint over revision over app, each whole', async (part, at) => {
    const shown = async (path: string): Promise<unknown> => {
      const data = expectData(await gateway.api('GET', `${path}/effective-policy`));
      expect(Object.keys(data)).toEqual(['policy', 'sources']);
      return [data.policy[part], data.sources[part]];
    };
    const from = (level: string, value: unknown): unknown => [value, { level, id: ids[level] }];

    expect(await shown(endpoint), 'set nowhere').toEqual([undefined, undefined]);
    await gateway.must('PATCH', '/apps/merged', { default_policy: { [part]: at(1) } });
    expect(await shown(revision)).toEqual(from('app', at(1)));
    expect(await shown(endpoint)).toEqual(from('app', at(1)));
    await gateway.must('PATCH', revision, { default_policy: { [part]: at(2) } });
    expect(await shown(revision)).toEqual(from('revision', at(2)));
    expect(await shown(endpoint)).toEqual(from('revision', at(2)));
    await gateway.must('PATCH', endpoint, { policy_override: { [part]: at(3) } });
    expect(await shown(revision)).toEqual(from('revision', at(2)));
    expect(await shown(endpoint)).toEqual(from('endpoint', at(3)));
    await gateway.must('PATCH', revision, { default_policy: null });
    await gateway.must('PATCH', endpoint, { policy_override: { [part]: null } });
    expect(await shown(endpoint), 'null inherits').toEqual(from('app', at(1)));
    await gateway.must('PATCH', '/apps/merged', { default_policy: null });
  });

  it('parts of different levels come together', async () => {
    await gateway.must('PATCH', '/apps/merged', { default_policy: { required_scopes: ['a'] } });
    await gateway.must('PATCH', revision, { default_policy: { max_body_bytes: 7 } });
    await gateway.must('PATCH', endpoint, { policy_override: { allowed_methods: ['GET'] } });
    expect(await gateway.must('GET', `${endpoint}/effective-policy`)).toEqual({
      policy: { required_scopes: ['a'], max_body_bytes: 7, allowed_methods: ['GET'] },
      sources: {
        required_scopes: { level: 'app', id: ids['app'] },
        max_body_bytes: { level: 'revision', id: ids['revision'] },
        allowed_methods: { level: 'endpoint', id: ids['endpoint'] },
      },
    });
  });

  it('of what does not exist is 404', async () => {
    for (const path of [revisionPath('merged', 'v1', 'none'), `${revision}/endpoints/none`]) {
      expectProblem(await gateway.api('GET', `${path}/effective-policy`), 'not_found');
    }
  });
});

describe('the audit log', () => {
  const entries = async (): Promise<Record<string, unknown>[]> => {
    const found: Record<string, unknown>[] = [];
    let query = 'limit=500';
    for (;;) {
      const { data, page } = expectPage(await gateway.api('GET', `/audit?${query}`));
      found.push(...data);
      if (page.next_cursor === null) return found;
      query = `limit=500&cursor=${page.next_cursor}`;
    }
  };

  it('has an entry for every write, and the config version grows by one with each', async () => {
    const before = await entries();
    const app = await createApp(gateway, 'audited', { default_policy: { max_body_bytes: 1 } });
    const version = await createVersion(gateway, 'audited');
    await gateway.must('PATCH', versionPath('audited'), { status: 'deprecated' });
    await gateway.must('PATCH', versionPath('audited'), { status: 'active' });
    const revision = await createRevision(gateway, 'audited', origin.port);
    await gateway.must('POST', `${revisionPath('audited')}/deactivate`);
    await gateway.must('POST', `${revisionPath('audited')}/activate`, { exclusive: true });
    const endpoint = await gateway.must('POST', `${revisionPath('audited')}/endpoints`, {
      method: 'GET',
      path: '/x',
    });
    const { token, ...key } = await gateway.must('POST', '/apps/audited/tokens', { name: 'k' });
    const rotated = await gateway.must('POST', `/apps/audited/tokens/${key.id}/rotate`);
    await gateway.must('DELETE', '/apps/audited?cascade=true');

    const added = (await entries()).slice(before.length);
    expect(added.map((entry) => [entry['action'], entry['resource_type'], entry['resource_id']])).toEqual([
      ['app.create', 'app', app.id],
      ['version.create', 'version', version.id],
      ['version.update', 'version', version.id],
      ['version.update', 'version', version.id],
      ['revision.create', 'revision', revision.id],
      ['revision.deactivate', 'revision', revision.id],
      ['revision.activate', 'revision', revision.id],
      ['endpoint.create', 'endpoint', endpoint.id],
      ['token.create', 'token', key.id],
      ['token.rotate', 'token', key.id],
      ['app.delete', 'app', app.id],
    ]);
    const versions = added.map((entry) => Number(entry['config_version']));
    const first = versions[0] ?? NaN;
    expect(versions).toEqual(versions.map((_version, index) => first + index));
    for (const entry of added) {
      expect(entry['id']).toMatch(UUID_V7);
      expect(entry['at']).toMatch(RFC3339_UTC);
      expect(entry['actor']).toBe('environment');
    }
    expect(added[2]?.['change']).toMatchObject({ status: 'deprecated' });
    expect(added[3]?.['change']).toEqual({ status: 'active', deprecated_at: null });
    expect(added[10]?.['change']).toEqual({ cascade: true, keys: [{ id: key.id, name: key.name }] });
    const text = JSON.stringify(added);
    for (const secret of [token, rotated.token]) expect(text).not.toContain(secret.slice(12));
  });

  it('names the admin token that wrote', async () => {
    const { id, token } = await gateway.must('POST', '/admin/tokens', { name: 'ci', role: 'editor' });
    const body = { name: 'x', slug: 'by-ci', gateway_path: '/by-ci' };
    expectData(await apiAs(gateway, token, 'POST', '/apps', body), 201);
    expect((await entries()).at(-1)).toMatchObject({ action: 'app.create', actor: id });
  });

  it('has nothing of refused writes and of those that change nothing', async () => {
    const before = (await entries()).length;
    await gateway.api('POST', '/apps', {});
    await gateway.api('POST', '/apps', { name: 'x', slug: 'by-ci', gateway_path: '/by-ci' });
    await gateway.api('PATCH', '/apps/by-ci', {});
    await gateway.api('PATCH', '/apps/by-ci', { name: 'y' }, { 'if-match': '"old"' });
    await gateway.api('DELETE', '/apps/none');
    expect(await entries()).toHaveLength(before);
  });
});
