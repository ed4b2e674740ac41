/** Refused admin tokens: slowed down per address, logged and audited; and what the audit log tells of each change. */
// oxlint-disable vitest/expect-expect -- expectProblem is an assertion
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { apiAs, expectPage, expectProblem, UUID_V7 } from '../../support/management.ts';
import {
  createApp,
  createEndpoint,
  createRevision,
  createVersion,
  revisionPath,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

type Entry = Record<string, unknown>;
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    env: { GATEWAY_SERVER__AUTH_FAILURES_PER_MINUTE: '5', GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1' },
  });
});
afterAll(() => gateway.stop());

const from = (address: string, token: string): Promise<Answer> =>
  gateway.api('GET', '/apps', undefined, { authorization: `Bearer ${token}`, 'x-forwarded-for': address });

async function audit(query: string): Promise<Entry[]> {
  return expectPage(await gateway.api('GET', `/audit?${query}`)).data;
}

describe('a wrong admin token', () => {
  it('is slowed down per address, and a right one that was used from there passes at once', async () => {
    expect((await from('192.0.2.1', ADMIN_TOKEN)).status).toBe(200);
    for (let index = 0; index < 5; index++)
      expectProblem(await from('192.0.2.1', `wrong-${index}`), 'unauthenticated');
    const slowed = await from('192.0.2.1', 'wrong-again');
    expectProblem(slowed, 'too_many_auth_failures');
    const waitSecs = Number(slowed.headers.get('retry-after'));
    expect(waitSecs).toBeGreaterThanOrEqual(1);
    expect(waitSecs).toBeLessThanOrEqual(12);
    expect((await from('192.0.2.1', ADMIN_TOKEN)).status).toBe(200);
    expect((await from('192.0.2.2', ADMIN_TOKEN)).status, 'another address').toBe(200);
    // A token that was never right from there might be a guess that is.
    const { id, token } = await gateway.must('POST', '/admin/tokens', { name: 'fresh', role: 'viewer' });
    expectProblem(await from('192.0.2.1', token), 'too_many_auth_failures');
    expect((await from('192.0.2.3', token)).status).toBe(200);
    await gateway.must('DELETE', `/admin/tokens/${id}`);
    expectProblem(await from('192.0.2.3', token), 'unauthenticated');
  });

  it('is in the log and in the audit log, with its address and request, once for many', async () => {
    const first = await from('192.0.2.7', 'wrong-secret-token');
    for (let index = 0; index < 20; index++) await from('192.0.2.7', `wrong-${index}`);
    const [entry] = await until(async () => {
      const found = await audit('action=login.refused&resource_id=192.0.2.7');
      return found.length > 0 ? found : undefined;
    });
    expect(entry).toMatchObject({
      actor: 'anonymous',
      action: 'login.refused',
      resource_type: 'login',
      address: '192.0.2.7',
      request_id: first.headers.get('x-request-id'),
      change: { attempts: 1 },
    });
    expect(await audit('action=login.refused&resource_id=192.0.2.7')).toHaveLength(1);
    const lines = () =>
      gateway.logs().filter(({ msg, address }) => msg === 'logins were refused' && address === '192.0.2.7');
    await expect.poll(lines).toMatchObject([{ request_id: entry?.['request_id'], attempts: 1 }]);
    expect(gateway.output()).not.toContain('wrong-secret-token');
  });

  it('names a token that was revoked', async () => {
    const { id, token, token_prefix } = await gateway.must('POST', '/admin/tokens', {
      name: 'old',
      role: 'viewer',
    });
    await gateway.must('DELETE', `/admin/tokens/${id}`);
    expectProblem(await from('192.0.2.8', token), 'unauthenticated');
    const [entry] = await until(async () => {
      const found = await audit('resource_id=192.0.2.8');
      return found.length > 0 ? found : undefined;
    });
    expect(entry?.['change']).toMatchObject({ token_prefix });
  });
});

describe('GATEWAY_ADMIN_TOKEN', () => {
  it('below 16 characters stops the start with a message that does not show it', async () => {
    const { code, output } = await runToEnd({ GATEWAY_ADMIN_TOKEN: 'fifteen-letters' });
    expect(code).not.toBe(0);
    expect(output).toContain('GATEWAY_ADMIN_TOKEN=(hidden): expected 16 to 512 visible ASCII characters');
    expect(output).not.toContain('fifteen-letters');
  });
});

describe('the audit log', () => {
  it('names what was touched and what it lay below, also when that is gone, with address and request', async () => {
    const app = await createApp(gateway, 'named');
    await createVersion(gateway, 'named');
    await createRevision(gateway, 'named', 9);
    const endpoint = await createEndpoint(gateway, 'named', 'GET', '/orders/{id}');
    const key = await gateway.must('POST', '/apps/named/tokens', { name: 'partner' });
    await gateway.must('POST', `${revisionPath('named')}/deactivate`);
    await gateway.must('DELETE', `/apps/named/tokens/${key.id}`);
    const deleted = await gateway.api('DELETE', '/apps/named?cascade=true', undefined, {
      'x-forwarded-for': '2001:db8::7',
    });
    const below = { app: 'named', version: 'v1', revision: 'r1' };
    const found: Record<string, Entry[]> = {
      endpoint: await audit(`resource_id=${endpoint.id}`),
      revision: await audit('resource_type=revision&resource_name=r1&action=revision.deactivate'),
      token: await audit('resource_name=partner&action=token.delete'),
      app: await audit(`resource_type=app&resource_name=named&action=app.delete`),
    };
    expect(found['endpoint']).toMatchObject([{ resource_name: 'GET /orders/{id}', parents: below }]);
    expect(found['revision']).toMatchObject([{ parents: { app: 'named', version: 'v1' } }]);
    expect(found['token']).toMatchObject([{ resource_id: key.id, parents: { app: 'named' } }]);
    expect(found['app']).toMatchObject([
      {
        resource_id: app.id,
        resource_name: 'named',
        address: '2001:db8::7',
        request_id: deleted.headers.get('x-request-id'),
        actor: 'environment',
      },
    ]);
  });

  it('has what changes no configuration: the shadow report, sampling, debug tokens, admin tokens', async () => {
    const app = await createApp(gateway, 'watched');
    await gateway.must('DELETE', '/apps/watched/shadow-report');
    await gateway.must('PUT', '/explain/sampling', { app: 'watched', seconds: 60 });
    await gateway.must('DELETE', '/explain/sampling');
    const debug = await gateway.must('POST', '/explain/debug-tokens', { app: 'watched', seconds: 60 });
    await gateway.must('DELETE', `/explain/debug-tokens/${debug.id}`);
    const admin = await gateway.must('POST', '/admin/tokens', { name: 'ci', role: 'editor' });
    await gateway.must('DELETE', `/admin/tokens/${admin.id}`);
    const latest = (await audit('order=newest_first&actor=environment&limit=7')).toReversed();
    const watched = { parents: { app: 'watched' } };
    expect(latest).toMatchObject([
      { action: 'shadow_report.reset', resource_id: app.id, resource_name: 'watched' },
      { action: 'sampling.start', ...watched },
      { action: 'sampling.stop' },
      { action: 'debug_token.create', resource_id: debug.id, ...watched },
      { action: 'debug_token.delete', resource_id: debug.id, ...watched },
      { action: 'admin_token.create', resource_name: 'ci' },
      { action: 'admin_token.delete', resource_name: 'ci' },
    ]);
    for (const entry of latest) {
      expect(entry['address']).toBe('127.0.0.1');
      expect(entry['request_id']).toMatch(/\S/);
    }
  });

  it('is filtered by actor, target, action and time, all at once, page by page', async () => {
    const { id, token } = await gateway.must('POST', '/admin/tokens', { name: 'filter', role: 'editor' });
    for (const slug of ['f1', 'f2', 'f3'])
      await apiAs(gateway, token, 'POST', '/apps', { name: slug, slug, gateway_path: `/${slug}` });
    await apiAs(gateway, token, 'PATCH', '/apps/f1', { name: 'renamed' });
    const created = `actor=${id}&action=app.create&resource_type=app`;
    const first = expectPage(await gateway.api('GET', `/audit?${created}&limit=2`));
    expect(first.page.total).toBe(3);
    expect(first.data.map(({ resource_name }) => resource_name)).toEqual(['f1', 'f2']);
    const rest = expectPage(
      await gateway.api('GET', `/audit?${created}&limit=2&cursor=${first.page.next_cursor}`),
    );
    expect(rest.data.map(({ resource_name }) => resource_name)).toEqual(['f3']);
    const [, second, third] = [...first.data, ...rest.data];
    expect(second.id).toMatch(UUID_V7);
    const at = third.at as string;
    const since = await audit(`actor=${id}&since=${at}`);
    expect(since.map(({ action }) => action)).toContain('app.update');
    for (const entry of since) expect(String(entry['at']) >= at).toBe(true);
    for (const entry of await audit(`actor=${id}&until=${at}`)) expect(String(entry['at']) < at).toBe(true);
    expect(await audit(`actor=${id}&resource_name=f1&action=app.update`)).toHaveLength(1);
    expectProblem(await gateway.api('GET', '/audit?since=yesterday'), 'invalid_query');
    expectProblem(await gateway.api('GET', '/audit?until=2026-02-30T00:00:00Z'), 'invalid_query');
    expectProblem(await gateway.api('GET', '/audit?actors=x'), 'invalid_query');
  });
});
