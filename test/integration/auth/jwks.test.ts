/**
 * JWK sets from a URL: cached, fetched with a time-out, fetched again for unknown key ids no more often than every ten
 * seconds, and kept when their server is gone. What takes such an interval runs side by side.
 */
import type * as http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain, stageOf } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Handler, type Origin } from '../../support/backends/origin.ts';
import { jwkOf, KEYS, signed, type KeyName } from '../../support/data/jwts.ts';
import { bearer, createPolicies } from '../../support/policies.ts';
import { rocaModulus } from '../../support/data/roca.ts';
import { createEndpoint, problem, request, revisionPath, type Fields } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;
const servers: Origin[] = [];

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createPolicies(gateway, 'id', origin.port, []);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin, ...servers].map((server) => server.close()));
});

const TOKEN_OF = {
  rsa: { alg: 'RS256', key: KEYS.rsa.privateKey, header: { kid: 'rsa' } },
  ec: { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } },
  ed: { alg: 'EdDSA', key: KEYS.ed.privateKey, header: { kid: 'ed' } },
  stranger: { alg: 'ES256', key: KEYS.stranger.privateKey, header: { kid: 'ec' } },
} as const;

/** A server of keys that a test can change, and an endpoint that trusts it. */
async function trust(path: string, handler: Handler, jwt: Fields = {}): Promise<Origin> {
  const server = await startOrigin(handler);
  servers.push(server);
  const policy = {
    auth: { auth_type: 'jwt', jwt: { jwks_uri: `http://127.0.0.1:${server.port}/jwks.json`, ...jwt } },
  };
  await createEndpoint(gateway, 'id', '*', path, { policy_override: policy });
  return server;
}

const serving =
  (keysOf: () => readonly KeyName[]): Handler =>
  (_incoming, response) => {
    void Promise.all(keysOf().map(jwkOf)).then((keys) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ keys }));
    });
  };

/** What the operator is told of the key set of a server. */
async function problemWith(server: Origin): Promise<unknown> {
  const problems = (await gateway.must('GET', '/problems')) as unknown as Record<string, unknown>[];
  return problems.find(({ detail }) => String(detail).includes(`127.0.0.1:${server.port}/jwks.json`));
}

async function statusOf(path: string, key: KeyName, claims: Fields = { sub: 'ann' }): Promise<number> {
  const token = await signed(claims, TOKEN_OF[key]);
  return (await request(gateway, `/id/v1${path}`, { headers: bearer(token) })).status;
}

describe('jwks_uri', () => {
  it('a token signed with a key of the set opens the route, one of another key does not', async () => {
    await trust(
      '/plain',
      serving(() => ['rsa', 'ec']),
    );
    expect([await statusOf('/plain', 'rsa'), await statusOf('/plain', 'ec')]).toEqual([200, 200]);
    expect(await statusOf('/plain', 'stranger')).toBe(401);
  });

  it('the set is cached: many tokens, and many at once, cost one fetch', async () => {
    const server = await trust(
      '/cached',
      serving(() => ['ec']),
    );
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => statusOf('/cached', 'ec', { sub: String(index) })),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it('the refetch for unknown key ids is throttled: a flood of them asks once', async () => {
    const server = await trust(
      '/flood',
      serving(() => ['ec']),
    );
    expect(await statusOf('/flood', 'ec')).toBe(200);
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const token = await signed(
          { sub: 'x' },
          { ...TOKEN_OF.stranger, header: { kid: `made-up-${index}` } },
        );
        return (await request(gateway, '/id/v1/flood', { headers: bearer(token) })).status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([401]));
    // One more at most, should the flood have lasted into the next interval.
    expect(server.seen.length).toBeLessThanOrEqual(2);
  });

  it.each([
    [
      'an error',
      (_: unknown, response: http.ServerResponse) => void response.writeHead(500).end('{"keys":[]}'),
    ],
    [
      'something else',
      (_: unknown, response: http.ServerResponse) => void response.end('<html>sign in</html>'),
    ],
    ['no set', (_: unknown, response: http.ServerResponse) => void response.end('{"keys":{}}')],
    ['no keys', (_: unknown, response: http.ServerResponse) => void response.end('{"keys":[]}')],
  ])('fails closed when the key server answers with %s', async (name, handler) => {
    const path = `/${name.replaceAll(' ', '-')}`;
    await trust(path, handler);
    // An empty set is one: then the key is unknown. Without any set nothing can be said of the token.
    expect(await statusOf(path, 'ec')).toBe(name === 'no keys' ? 401 : 503);
  });

  it('does not follow a redirect: trust is not handed on', async () => {
    const real = await startOrigin(serving(() => ['ec']));
    servers.push(real);
    await trust('/redirect', (_incoming, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${real.port}/jwks.json` }).end();
    });
    expect(await statusOf('/redirect', 'ec')).toBe(503);
    expect(real.seen).toHaveLength(0);
  });

  it('a failed fetch is logged, without the query of the URL', async () => {
    const server = await startOrigin((_incoming, response) => void response.writeHead(503).end());
    servers.push(server);
    const jwks_uri = `http://127.0.0.1:${server.port}/keys?token=very-secret-query`;
    await createEndpoint(gateway, 'id', '*', '/logged', {
      policy_override: { auth: { auth_type: 'jwt', jwt: { jwks_uri } } },
    });
    expect(await statusOf('/logged', 'ec')).toBe(503);
    const line = await until(() =>
      gateway
        .output()
        .split('\n')
        .find((text) => text.includes(`:${server.port}/keys`)),
    );
    expect(line).toContain('503');
    expect(line).not.toContain('very-secret-query');
  });
});

describe('a key set that was never fetched', () => {
  const unreachable = async (path: string, rest: Fields = {}): Promise<void> => {
    const server = await startOrigin((_incoming, response) => void response.writeHead(500).end());
    servers.push(server);
    const auth = { auth_type: 'jwt', jwt: { jwks_uri: `http://127.0.0.1:${server.port}/jwks.json` } };
    await createEndpoint(gateway, 'id', '*', path, { policy_override: { auth, ...rest } });
  };
  const ask = async (path: string, token?: string) =>
    request(gateway, `/id/v1${path}`, { headers: token === undefined ? {} : bearer(token) });

  it('is no fault of the token: 503 with Retry-After and no challenge', async () => {
    await unreachable('/never');
    const response = await ask('/never', await signed({ sub: 'ann' }, TOKEN_OF.ec));
    const document = problem(response);
    expect(document).toMatchObject({ status: 503, code: 'jwt_keys_unavailable' });
    expect(document.detail).not.toContain('127.0.0.1');
    expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(response.headers['retry-after'])).toBeLessThanOrEqual(10);
    expect(response.headers['www-authenticate']).toBeUndefined();
    expect((await ask('/never')).status).toBe(401);
    expect((await ask('/never', 'no-token-at-all')).status).toBe(401);
    const explained = await explain(gateway, {
      method: 'GET',
      url: '/id/v1/never',
      token: await signed({ sub: 'ann' }, TOKEN_OF.ec),
    });
    expect(explained).toMatchObject({ code: 'jwt_keys_unavailable', fix: { action: 'fix_keys' } });
    expect(stageOf(explained, 'auth')).toMatchObject({ verdict: 'denied', code: 'jwt_keys_unavailable' });
  });

  it('makes no caller anonymous where authentication is optional', async () => {
    await unreachable('/optional', {});
    const list = await gateway.must('GET', `${revisionPath('id')}/endpoints`);
    const endpoint = list.find((each: { path: string }) => each.path === '/optional');
    const { policy_override: policy } = endpoint;
    await gateway.must('PATCH', `${revisionPath('id')}/endpoints/${endpoint.id}`, {
      policy_override: { ...policy, auth: { ...policy.auth, required: false } },
    });
    expect((await ask('/optional', await signed({ sub: 'ann' }, TOKEN_OF.ec))).status).toBe(503);
    expect((await ask('/optional')).status).toBe(200);
  });

  it('lets requests pass in shadow mode, and the report has the code', async () => {
    await unreachable('/shadowed', { shadow: ['auth'] });
    expect((await ask('/shadowed', await signed({ sub: 'ann' }, TOKEN_OF.ec))).status).toBe(200);
    const report = await until(async () => {
      const { body } = await gateway.api('GET', '/apps/id/shadow-report');
      return JSON.stringify(body).includes('jwt_keys_unavailable') ? body : undefined;
    });
    expect(report).toBeDefined();
  });
});

describe('weak keys', () => {
  it('of a fetched set are skipped and named in the log, the others hold', async () => {
    const server = await trust('/weak', (_incoming, response) => {
      void jwkOf('ec').then((key) => {
        const weak = { kty: 'RSA', e: 'AQAB', n: rocaModulus(), kid: 'weak-1' };
        response.end(JSON.stringify({ keys: [weak, key] }));
      });
    });
    expect(await statusOf('/weak', 'ec')).toBe(200);
    expect(server.seen.length).toBeGreaterThan(0);
    const line = await until(() => gateway.logs().find((each) => each['kid'] === 'weak-1'));
    expect(line).toMatchObject({ level: 'warn', reason: expect.stringContaining('ROCA') });
  });

  it('of a policy are refused when it is written', async () => {
    const answer = await gateway.api('POST', `${revisionPath('id')}/endpoints`, {
      method: 'GET',
      path: '/inline',
      policy_override: {
        auth: { auth_type: 'jwt', jwt: { jwks: { keys: [{ kty: 'RSA', e: 'AQAB', n: rocaModulus() }] } } },
      },
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0]).toMatchObject({
      pointer: '/policy_override/auth/jwt/jwks/keys/0',
      detail: expect.stringContaining('ROCA'),
    });
  });
});

describe.concurrent('over time', () => {
  it('rotation: a token with a new key id is accepted after the throttled refetch, the old key is forgotten', async () => {
    let keys: readonly KeyName[] = ['ec'];
    const server = await trust(
      '/rotated',
      serving(() => keys),
    );
    expect(await statusOf('/rotated', 'ec')).toBe(200);
    keys = ['rsa'];
    expect(await statusOf('/rotated', 'ec')).toBe(200);
    await until(async () => (await statusOf('/rotated', 'rsa')) === 200);
    expect(server.seen.length).toBeLessThanOrEqual(3);
    // Also for a token that was remembered as good.
    expect(await statusOf('/rotated', 'ec')).toBe(401);
  });

  it('an outage keeps the last good keys, and costs one attempt per interval', async () => {
    let broken = false;
    let attempts = 0;
    const server = await trust('/outage', (incoming, response) => {
      if (!broken) return serving(() => ['ec'])(incoming, response, '');
      attempts++;
      response.destroy();
    });
    expect(await statusOf('/outage', 'ec')).toBe(200);
    broken = true;
    await until(async () => {
      expect(await statusOf('/outage', 'rsa')).toBe(401);
      return attempts > 0;
    });
    for (const sub of ['ann', 'bob', 'cid']) expect(await statusOf('/outage', 'ec', { sub })).toBe(200);
    expect(attempts).toBe(1);
    expect(server.seen).toHaveLength(2);
    expect(await problemWith(server)).toMatchObject({
      code: 'key_set_unavailable',
      severity: 'warning',
      detail: expect.stringContaining('The keys that were fetched last stay in use'),
      since: expect.any(String),
    });
    broken = false;
    await until(async () => {
      expect(await statusOf('/outage', 'rsa')).toBe(401);
      return (await problemWith(server)) === undefined;
    });
  });

  it('a key server that never answers ends in 503 after the time-out, other routes are not held up', async () => {
    await trust('/mute', () => undefined);
    const waiting = statusOf('/mute', 'ec');
    const other = await request(gateway, '/id/v1/open');
    expect(other.status).toBe(200);
    expect(await waiting).toBe(503);
  });

  it('a key server that comes up later is found', async () => {
    let up = false;
    const server = await trust('/late', (incoming, response) => {
      if (up) serving(() => ['ed'])(incoming, response, '');
      else response.writeHead(502).end();
    });
    expect(await statusOf('/late', 'ed')).toBe(503);
    expect(await problemWith(server)).toMatchObject({
      code: 'key_set_unavailable',
      severity: 'critical',
      detail: expect.stringMatching(/cannot be fetched: .*502\. Requests with a token get 503/),
    });
    up = true;
    await until(async () => (await statusOf('/late', 'ed')) === 200);
    expect(await problemWith(server)).toBeUndefined();
  });
});
