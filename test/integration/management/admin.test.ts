/**
 * Contract part 5 "Management API" through the started program: the first token, GATEWAY_ADMIN_TOKEN, roles, expiry;
 * that only hashes are stored, that logs have no tokens, and that nothing else than a token grants anything.
 */
// oxlint-disable vitest/expect-expect -- expectData and expectProblem are assertions
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import {
  apiAs,
  callPlain,
  expectData,
  expectPage,
  expectProblem,
  NO_SUCH_ID,
} from '../../support/management.ts';
import { until } from '../../support/measure/until.ts';
import { storedText, SUITE_DATABASE } from '../../support/programs/suite-database.ts';

const CHALLENGE = 'Bearer realm="headgate"';

describe('the first admin token', { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-admin-'));
  const file = join(folder, 'admin-token');
  const start = (token = ''): Promise<TestGateway> =>
    startGateway({ folder, env: { GATEWAY_ADMIN_TOKEN: token } });
  let first = '';
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is made by the first start: shown once, in a file for its owner only, and it works', async () => {
    const gateway = await start();
    try {
      // What is shown comes through another pipe than the line that says that it is ready.
      const shown = await until(() => gateway.output().match(/hga_[A-Za-z0-9_-]{49}/g) ?? undefined);
      expect(shown).toHaveLength(1);
      first = shown[0] ?? '';
      await expect.poll(() => gateway.output()).toContain(file);
      expect(readFileSync(file, 'utf8')).toBe(`${first}\n`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      if (SUITE_DATABASE === 'sqlite') {
        expect(statSync(join(folder, 'headgate.db')).mode & 0o777).toBe(0o600);
      }
      expect(JSON.stringify(gateway.logs()), 'shown, but not in the log').not.toContain(first);

      const { data } = expectPage(await apiAs(gateway, first, 'GET', '/admin/tokens'));
      expect(data).toHaveLength(1);
      expect(data[0]).toMatchObject({ role: 'admin', expires_at: null });
      const app = { name: 'x', slug: 'x', gateway_path: '/x' };
      expectData(await apiAs(gateway, first, 'POST', '/apps', app), 201);
      expectProblem(await apiAs(gateway, ADMIN_TOKEN, 'GET', '/apps'), 'unauthenticated');

      const last = await apiAs(gateway, first, 'DELETE', `/admin/tokens/${data[0].id}`);
      expectProblem(last, 'conflict');
    } finally {
      await gateway.stop();
    }
  });

  it('is not made again by the next start, which shows nothing, and still works', async () => {
    const gateway = await start();
    try {
      expect(gateway.output()).not.toContain('hga_');
      expect(readFileSync(file, 'utf8')).toBe(`${first}\n`);
      expectData(await apiAs(gateway, first, 'GET', '/apps/x'));
    } finally {
      await gateway.stop();
    }
  });

  it.runIf(SUITE_DATABASE === 'sqlite')(
    'is not replaced by the token of a second database in its folder, and the start says so',
    async () => {
      const second = join(folder, 'second.db');
      const gateway = await startGateway({
        folder,
        env: { GATEWAY_ADMIN_TOKEN: '', GATEWAY_DATABASE_URL: `sqlite://${second}` },
      });
      try {
        expect(readFileSync(file, 'utf8')).toBe(`${first}\n`);
        const token = readFileSync(`${file}-second.db`, 'utf8').trim();
        await expect
          .poll(() => gateway.output())
          .toContain(`It is kept in ${file}-second.db; it is not shown again.`);
        await expect
          .poll(() => gateway.output())
          .toContain(`${file} is left as it is: there is another database in that folder`);
        expectPage(await apiAs(gateway, token, 'GET', '/admin/tokens'));
        expectProblem(await apiAs(gateway, first, 'GET', '/apps'), 'unauthenticated');
      } finally {
        await gateway.stop();
      }
    },
  );

  it('stays valid together with GATEWAY_ADMIN_TOKEN, with which it may be deleted', async () => {
    const gateway = await start('a-token-of-the-environment');
    try {
      const { data } = expectPage(await apiAs(gateway, first, 'GET', '/admin/tokens'));
      const path = `/admin/tokens/${data[0].id}`;
      expect((await apiAs(gateway, 'a-token-of-the-environment', 'DELETE', path)).status).toBe(204);
      expectProblem(await apiAs(gateway, first, 'GET', '/apps'), 'unauthenticated');
    } finally {
      await gateway.stop();
    }
  });

  it('only its hash was ever in the database', async () => {
    const database = await storedText(folder, 'headgate.db');
    expect(database).toContain('app.create');
    expect(database).not.toContain(first.slice(12));
    expect(database).not.toContain('a-token-of-the-environment');
  });
});

describe('admin access', () => {
  let gateway: TestGateway;
  const tokens: Record<string, string> = {};
  beforeAll(async () => {
    gateway = await startGateway();
    for (const role of ['viewer', 'editor', 'admin']) {
      tokens[role] = (await gateway.must('POST', '/admin/tokens', { name: role, role })).token;
    }
    await gateway.must('POST', '/apps', { name: 'Base', slug: 'base', gateway_path: '/base' });
  });
  afterAll(() => gateway.stop());

  it('with GATEWAY_ADMIN_TOKEN set, the first start makes no token and writes no file', async () => {
    const others = expectPage(await gateway.api('GET', '/admin/tokens')).data.map(({ name }) => name);
    expect(others).toEqual(['viewer', 'editor', 'admin']);
    expect(readdirSync(gateway.folder)).not.toContain('admin-token');
  });

  it.each([
    ['nothing', {}, CHALLENGE],
    ['an empty field', { authorization: '' }, `${CHALLENGE}, error="invalid_token"`],
    ['the scheme alone', { authorization: 'Bearer' }, `${CHALLENGE}, error="invalid_token"`],
    [
      'another scheme',
      { authorization: `Basic ${btoa(`a:${ADMIN_TOKEN}`)}` },
      `${CHALLENGE}, error="invalid_token"`,
    ],
    ['the token without a scheme', { authorization: ADMIN_TOKEN }, `${CHALLENGE}, error="invalid_token"`],
    ['a wrong token', { authorization: 'Bearer wrong' }, `${CHALLENGE}, error="invalid_token"`],
    [
      'the token cut short',
      { authorization: `Bearer ${ADMIN_TOKEN.slice(0, -1)}` },
      `${CHALLENGE}, error="invalid_token"`,
    ],
    [
      'the token and more',
      { authorization: `Bearer ${ADMIN_TOKEN}x` },
      `${CHALLENGE}, error="invalid_token"`,
    ],
    [
      'the token in another case',
      { authorization: `Bearer ${ADMIN_TOKEN.toUpperCase()}` },
      `${CHALLENGE}, error="invalid_token"`,
    ],
    [
      'a well-formed token that does not exist',
      { authorization: `Bearer hga_${'A'.repeat(49)}` },
      `${CHALLENGE}, error="invalid_token"`,
    ],
    ['a cookie', { cookie: `token=${ADMIN_TOKEN}` }, CHALLENGE],
    ['another field', { 'x-api-key': ADMIN_TOKEN, 'x-admin-token': ADMIN_TOKEN }, CHALLENGE],
    [
      'what proxies say',
      {
        'x-forwarded-for': '127.0.0.1',
        'x-real-ip': '127.0.0.1',
        forwarded: 'for=127.0.0.1',
        'x-forwarded-user': 'admin',
        'x-forwarded-host': 'localhost',
      },
      CHALLENGE,
    ],
  ] as const)('%s is 401', async (_what, headers, challenge) => {
    const answer = await callPlain(gateway, { ...headers }, 'GET', '/apps');
    expectProblem(answer, 'unauthenticated');
    expect(answer.headers.get('www-authenticate')).toBe(challenge);
  });

  it('the token in the query grants nothing', async () => {
    const answer = await callPlain(gateway, {}, 'GET', `/apps?access_token=${ADMIN_TOKEN}`);
    expectProblem(answer, 'unauthenticated');
  });

  it('the scheme is read in any case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      expectPage(await callPlain(gateway, { authorization: `${scheme} ${ADMIN_TOKEN}` }, 'GET', '/apps'));
    }
  });

  it('an API key is no admin token, and an admin token no API key', async () => {
    const { token } = await gateway.must('POST', '/apps/base/tokens', { name: 'k' });
    expectProblem(await apiAs(gateway, token, 'GET', '/apps'), 'unauthenticated');
    await gateway.must('POST', '/apps/base/versions', { version: 'v1' });
    const revision = { revision: 'r1', backend_host: '127.0.0.1', backend_port: 9, is_current: true };
    await gateway.must('POST', '/apps/base/versions/v1/revisions', revision);
    await gateway.must('PATCH', '/apps/base', { default_policy: { auth: { auth_type: 'api_key' } } });
    for (const admin of [ADMIN_TOKEN, tokens['admin']]) {
      const response = await fetch(`${gateway.proxy}/base/v1/x`, {
        headers: { authorization: `Bearer ${admin}` },
      });
      expect(response.status).toBe(401);
    }
  });

  it.each([
    ['no role', { name: 'x' }, ['/role']],
    ['an unknown role', { name: 'x', role: 'owner' }, ['/role']],
    [
      'an expiry in the past',
      { name: 'x', role: 'viewer', expires_at: '2020-01-01T00:00:00Z' },
      ['/expires_at'],
    ],
  ])('a token with %s is 422', async (_what, body, pointers) => {
    expectProblem(await gateway.api('POST', '/admin/tokens', body), 'validation_failed', { pointers });
  });

  it('a token is shown once', async () => {
    const { id, token } = await gateway.must('POST', '/admin/tokens', { name: 'once', role: 'viewer' });
    expect(token).toMatch(/^hga_[A-Za-z0-9_-]{49}$/);
    for (const path of [`/admin/tokens/${id}`, '/admin/tokens', '/audit?limit=500']) {
      const answer = await gateway.api('GET', path);
      expect(JSON.stringify(answer.body), path).not.toContain(token.slice(12));
    }
  });

  it('a deleted token stops at once, an expired one when its time has come', async () => {
    const { id, token } = await gateway.must('POST', '/admin/tokens', { name: 'd', role: 'viewer' });
    expectPage(await apiAs(gateway, token, 'GET', '/apps'));
    await gateway.must('DELETE', `/admin/tokens/${id}`);
    expectProblem(await apiAs(gateway, token, 'GET', '/apps'), 'unauthenticated');

    const expires_at = new Date(Date.now() + 4_000).toISOString();
    const short = await gateway.must('POST', '/admin/tokens', { name: 'e', role: 'viewer', expires_at });
    expectPage(await apiAs(gateway, short.token, 'GET', '/apps'));
    const status = async (): Promise<number> => (await apiAs(gateway, short.token, 'GET', '/apps')).status;
    await expect.poll(status, { interval: 100 }).toBe(401);
    const { body } = await apiAs(gateway, short.token, 'GET', '/apps');
    expect(body.detail).toMatch(/expired/);
  });

  it('last_used_at says that a token was used', async () => {
    const { id, token } = await gateway.must('POST', '/admin/tokens', { name: 'u', role: 'viewer' });
    expect((await gateway.must('GET', `/admin/tokens/${id}`)).last_used_at).toBeNull();
    await apiAs(gateway, token, 'GET', '/apps');
    // No call waits until it is written.
    const lastUse = async (): Promise<unknown> =>
      (await gateway.must('GET', `/admin/tokens/${id}`)).last_used_at;
    await expect.poll(lastUse).not.toBeNull();
  });

  describe('roles', () => {
    const RANK = { viewer: 0, editor: 1, admin: 2 } as const;
    interface Described {
      readonly method: string;
      readonly path: string;
    }
    /** All operations of the document, with ids that do not exist. */
    async function operations(): Promise<Described[]> {
      const { body } = await callPlain(gateway, {}, 'GET', '/openapi.json');
      return Object.entries(body.paths as Record<string, object>).flatMap(([path, item]) =>
        Object.keys(item).map((method) => ({
          method: method.toUpperCase(),
          // A stream would not end: it is refused for its query, after the role.
          path: `/${path.replaceAll(/\{\w+\}/g, NO_SUCH_ID)}${path.endsWith('/live') ? '?per_second=x' : ''}`,
        })),
      );
    }
    const PUBLIC = ['//api/v1/health', '//api/v1/openapi.json', '//api/v1/sign-in', '//healthz', '//readyz'];
    /** The token comes in the body; the others are about the caller's own session, or refused one by one. */
    const isSignIn = ({ method, path }: Described): boolean =>
      `${method} ${path}` === 'POST //api/v1/session';
    const OWN_SESSION = /^\/\/api\/v1\/sessions?(?:\/|$)/;
    const needed = ({ method, path }: Described): keyof typeof RANK => {
      if (/^\/\/api\/v1\/(?:admin\/|audit|secrets|config\/(?:file|backup)$|explain\/debug-tokens)/.test(path))
        return 'admin';
      // Asks, by POST because the question is long.
      if (/^\/\/api\/v1\/(?:explain|config\/(?:bisect|explain|plan))$/.test(path)) return 'viewer';
      if (OWN_SESSION.test(path)) return 'viewer';
      // Needs the role of each operation in it.
      if (path === '//api/v1/transaction') return 'viewer';
      // They send data out.
      if (method !== 'GET' && /^\/\/api\/v1\/(?:webhooks|profiles)/.test(path)) return 'admin';
      return method === 'GET' ? 'viewer' : 'editor';
    };

    it('every operation but health, probes and the document is 401 without a token', async () => {
      const all = await operations();
      expect(all.length).toBeGreaterThan(35);
      for (const operation of all) {
        const answer = await callPlain(gateway, {}, operation.method, operation.path);
        const what = `${operation.method} ${operation.path}`;
        if (PUBLIC.includes(operation.path)) expect(answer.status, what).toBe(200);
        else expectProblem(answer, isSignIn(operation) ? 'invalid_json' : 'unauthenticated');
      }
    });

    it.each(['viewer', 'editor', 'admin'] as const)('%s: what it may, and 403 for the rest', async (role) => {
      for (const operation of await operations()) {
        if (PUBLIC.includes(operation.path) || isSignIn(operation)) continue;
        const { method, path } = operation;
        const answer = await apiAs(gateway, tokens[role] ?? '', method, path);
        const what = `${role}: ${method} ${path}`;
        if (RANK[role] < RANK[needed(operation)]) {
          expectProblem(answer, 'forbidden');
          expect(answer.headers.get('www-authenticate')).toBe(`${CHALLENGE}, error="insufficient_scope"`);
        } else {
          // Past the role: nothing of that id is there, the empty body is refused, or there is nothing to end.
          expect([200, 204, 400, 404], what).toContain(answer.status);
        }
      }
    });

    it('a viewer changes nothing, an editor makes apps and keys but no admin tokens', async () => {
      const { viewer = '', editor = '' } = tokens;
      const body = { name: 'x', slug: 'by-role', gateway_path: '/by-role' };
      expectProblem(await apiAs(gateway, viewer, 'POST', '/apps', body), 'forbidden');
      expectProblem(await gateway.api('GET', '/apps/by-role'), 'not_found');
      expectData(await apiAs(gateway, editor, 'POST', '/apps', body), 201);
      expectData(await apiAs(gateway, editor, 'POST', '/apps/by-role/tokens', { name: 'k' }), 201);
      expectData(await apiAs(gateway, viewer, 'GET', '/apps/by-role'));
      const before = expectPage(await gateway.api('GET', '/admin/tokens')).page.total;
      const token = { name: 'x', role: 'admin' };
      for (const role of [viewer, editor]) {
        expectProblem(await apiAs(gateway, role, 'POST', '/admin/tokens', token), 'forbidden');
      }
      expect(expectPage(await gateway.api('GET', '/admin/tokens')).page.total).toBe(before);
    });

    it('metrics are for viewers', async () => {
      expect((await apiAs(gateway, tokens['viewer'] ?? '', 'GET', '//metrics')).status).toBe(200);
    });
  });

  it('only hashes are stored, and no token is ever logged', async () => {
    const { token: key } = await gateway.must('POST', '/apps/base/tokens', { name: 'k' });
    const values = [ADMIN_TOKEN, key, ...Object.values(tokens)];
    for (const value of values) {
      await callPlain(gateway, { authorization: `Bearer ${value}` }, 'GET', `/apps?token=${value}`);
      await fetch(`${gateway.proxy}/base/v1/x?key=${value}`, {
        headers: { authorization: `Bearer ${value}` },
      });
    }
    const stored = await storedText(gateway.folder);
    expect(stored, 'the database was looked into').toContain('by-role');
    for (const value of values) {
      // The first characters are shown as the prefix to recognise a token by.
      expect(stored).not.toContain(value.slice(12));
      expect(gateway.output()).not.toContain(value.slice(12));
    }
  });
});
