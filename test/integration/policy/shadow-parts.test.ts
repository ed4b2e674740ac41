/**
 * Shadow mode of the parts that deny through something else than an answer of the gateway's stages: `cors`, which
 * the browser enforces, and `max_body_bytes`, whose verdict on a chunked body comes at its end. In shadow both are
 * as if they were absent, and what they would have refused is noted.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARTS, SHADOW_PART_NAMES } from '../../../src/policy/registry.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createPolicies, metric } from '../../support/policies.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { request, requestText, type RequestParts, type Served } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const PAGE = 'https://page.test';
const OTHER = 'https://other.test';
const GLOBAL_BYTES = 5_000;

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_PROXY__MAX_BODY_BYTES: String(GLOBAL_BYTES) } }),
    startOrigin((incoming, response) => {
      response.writeHead(200, { 'access-control-allow-origin': '*', 'x-method': incoming.method });
      response.end();
    }),
  ]);
  const cors = { allowed_origins: [PAGE], allowed_methods: ['GET', 'PUT'] };
  await createPolicies(gateway, 'dark', origin.port, [
    { path: '/cors', policy: { cors, shadow: ['cors'] } },
    { path: '/cors-off', policy: { cors: { allowed_origins: [] }, shadow: ['cors'] } },
    { path: '/body', policy: { max_body_bytes: 100, shadow: ['max_body_bytes'] } },
    { path: '/body-wide', policy: { max_body_bytes: 1_000_000, shadow: ['max_body_bytes'] } },
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = (path: string, parts: RequestParts = {}) => request(gateway, `/dark/v1${path}`, parts);

/** What the access log says of a response that a part in shadow would have denied. */
async function noted(requestId: string | undefined): Promise<unknown> {
  const line = await until(() =>
    gateway.logs().find((each) => each['msg'] === 'access' && each['request_id'] === requestId),
  );
  return line['would_deny'];
}

describe('cors', () => {
  it('leaves the CORS fields of the backend alone, for every origin', async () => {
    for (const page of [PAGE, OTHER]) {
      const response = await call('/cors', { headers: { Origin: page } });
      expect(response.status).toBe(200);
      expect(response.headers['access-control-allow-origin']).toBe('*');
      expect(response.headers).not.toHaveProperty('vary');
      expect(await noted(response.headers['x-request-id'])).toEqual(page === PAGE ? undefined : ['cors']);
    }
  });

  it('preflights go to the backend, and are judged by what they ask for', async () => {
    const ask = async (method: string) => {
      const headers = { Origin: PAGE, 'Access-Control-Request-Method': method };
      const response = await call('/cors', { method: 'OPTIONS', headers });
      expect(response.headers['x-method']).toBe('OPTIONS');
      return noted(response.headers['x-request-id']);
    };
    expect(await ask('PUT')).toBeUndefined();
    expect(await ask('DELETE')).toEqual(['cors']);
  });

  it('requests without Origin, or of the same origin, are not its business', async () => {
    for (const headers of [{}, { Origin: 'http://gateway.test' }]) {
      const response = await call('/cors', { headers });
      expect(await noted(response.headers['x-request-id'])).toBeUndefined();
    }
  });

  it('switched off it denies nothing', async () => {
    const response = await call('/cors-off', { headers: { Origin: OTHER } });
    expect(await noted(response.headers['x-request-id'])).toBeUndefined();
  });

  it('is in the report and in the metrics, with the reason', async () => {
    const before = await metric(gateway, 'headgate_shadow_denials_total', { part: 'cors' });
    await call('/cors', { headers: { Origin: OTHER } });
    expect(await metric(gateway, 'headgate_shadow_denials_total', { part: 'cors' })).toBe(before + 1);
    const report = await gateway.must('GET', '/apps/dark/shadow-report?part=cors');
    expect(report.rows).toMatchObject([
      {
        route: '/dark/v1/cors',
        total: before + 1,
        last: { code: 'cors_refused', detail: `The origin "${OTHER}" is not allowed` },
      },
    ]);
  });

  it('out of shadow the gateway answers again', async () => {
    const endpoints = await gateway.must('GET', '/apps/dark/versions/v1/revisions/r1/endpoints');
    const { id } = endpoints.find(({ path }: Served) => path === '/cors');
    const path = `/apps/dark/versions/v1/revisions/r1/endpoints/${id}`;
    await gateway.must('PATCH', path, { policy_override: { shadow: [] } });
    const preflight = { Origin: PAGE, 'Access-Control-Request-Method': 'PUT' };
    expect((await call('/cors', { method: 'OPTIONS', headers: preflight })).status).toBe(204);
    const response = await call('/cors', { headers: { Origin: OTHER } });
    expect(response.headers).not.toHaveProperty('access-control-allow-origin');
    await gateway.must('PATCH', path, { policy_override: { shadow: ['cors'] } });
  });
});

describe('max_body_bytes', () => {
  const post = (path: string, bytes: number) => call(path, { method: 'POST', body: 'x'.repeat(bytes) });
  const postChunked = (path: string, bytes: number) => {
    const headers = { 'Transfer-Encoding': 'chunked' };
    const head = requestText(`/dark/v1${path}`, { method: 'POST', headers });
    const chunk = `a\r\n${'x'.repeat(10)}\r\n`;
    return sendRaw(gateway.proxyPort, `${head}${chunk.repeat(bytes / 10)}0\r\n\r\n`);
  };

  it.each([
    ['with a length', post],
    ['chunked', postChunked],
  ] as const)('%s: a longer body passes and is noted, one at the limit is not', async (_name, send) => {
    for (const bytes of [100, 110]) {
      const response = await send('/body', bytes);
      expect(response.status).toBe(200);
      expect(await noted(response.headers['x-request-id'])).toEqual(
        bytes === 100 ? undefined : ['max_body_bytes'],
      );
    }
  });

  it.each([
    ['with a length', post],
    ['chunked', postChunked],
  ] as const)('%s: the global limit is in force, as if the part were absent', async (_name, send) => {
    expect((await send('/body', GLOBAL_BYTES + 10)).status).toBe(413);
    expect((await send('/body-wide', GLOBAL_BYTES + 10)).status).toBe(413);
    expect((await send('/body-wide', GLOBAL_BYTES)).status).toBe(200);
  });

  it('is in the report with its code', async () => {
    await post('/body', 200);
    const report = await gateway.must('GET', '/apps/dark/shadow-report?part=max_body_bytes');
    expect(report.rows).toMatchObject([{ route: '/dark/v1/body', last: { code: 'body_too_large' } }]);
  });
});

it('every part of a policy that can refuse a request can be in shadow, and nothing else', async () => {
  const withStages = PARTS.filter(({ stages = [] }) => stages.length > 0).map(({ name }) => name);
  expect(SHADOW_PART_NAMES).toEqual(withStages);
  await gateway.must('PATCH', '/apps/dark', { default_policy: { shadow: [...SHADOW_PART_NAMES] } });
  const answer = await gateway.api('PATCH', '/apps/dark', { default_policy: { shadow: ['shadow'] } });
  expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, '/default_policy/shadow/0']);
});
