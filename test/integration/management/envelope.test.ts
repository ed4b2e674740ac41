/**
 * Contract part 4 "Health" and part 9 through the started program: the envelope of every answer of the management API,
 * whatever was asked; bodies that cannot be read; probes and metrics.
 */
// oxlint-disable vitest/expect-expect -- expectData, expectPage and expectProblem are assertions
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { callPlain, expectData, expectPage, expectProblem, expectRecord } from '../../support/management.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { sendRaw, type RawResponse } from '../../support/clients/raw-client.ts';
import { SUITE_DATABASE } from '../../support/programs/suite-database.ts';
import { createService, request } from '../../support/traffic.ts';

const APP = { name: 'Envelope', slug: 'envelope', gateway_path: '/envelope' };
let gateway: TestGateway;
let origin: Origin;
beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createService(gateway, 'billing', origin.port);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** A POST of raw bytes with exactly this Content-Type (none for null). */
async function post(
  bytes: string | Uint8Array<ArrayBuffer>,
  type: string | null,
  more: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${gateway.base}/api/v1/apps`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(type === null ? {} : { 'content-type': type }),
      ...more,
    },
    // A string would bring a Content-Type of its own.
    body: typeof bytes === 'string' ? Buffer.from(bytes) : bytes,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

describe('health', () => {
  it('spec 4: GET /health answers the envelope with exactly these members and types', async () => {
    const answer = await callPlain(gateway, {}, 'GET', '/health');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(Object.keys(answer.body).sort()).toEqual(['data', 'message', 'status']);
    expect(answer.body.status).toBe(200);
    expect(typeof answer.body.message).toBe('string');
    expect(Object.keys(answer.body.data).sort()).toEqual(['db', 'db_driver', 'uptime_secs']);
    expect(answer.body.data.db).toBe('ok');
    expect(answer.body.data.db_driver).toBe(SUITE_DATABASE);
    expect(Number.isInteger(answer.body.data.uptime_secs)).toBe(true);
    expect(answer.body.data.uptime_secs).toBeGreaterThanOrEqual(0);
  });

  it('spec 4: uptime_secs counts on', async () => {
    const read = async (): Promise<number> => (await gateway.must('GET', '/health')).uptime_secs as number;
    const first = await read();
    await expect.poll(read, { interval: 200 }).toBeGreaterThan(first);
  });

  it('health needs no token, and a wrong one does not matter', async () => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic eDp5' }]) {
      expectData(await callPlain(gateway, headers, 'GET', '/health'));
    }
  });
});

describe('probes and metrics', () => {
  it('/healthz and /readyz answer without a token', async () => {
    expect(expectData(await callPlain(gateway, {}, 'GET', '//healthz'))).toBeNull();
    expect(expectData(await callPlain(gateway, {}, 'GET', '//readyz'))).toEqual({
      ready: true,
      reason: null,
    });
  });

  it('/metrics needs a token', async () => {
    expectProblem(await callPlain(gateway, {}, 'GET', '//metrics'), 'unauthenticated', {
      instance: '/metrics',
    });
  });

  it('/metrics is Prometheus text that counts the proxied requests', async () => {
    expect((await request(gateway, '/billing/v1/x')).status).toBe(200);
    const answer = await gateway.api('GET', '//metrics');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const lines = (answer.body as string).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const line of lines) expect(line).toMatch(/^[a-z][a-z0-9_]*(?:\{.*\})? \S+$/);
    const counted = lines.find((line) => /^headgate_requests_total\{.*app="billing"/.test(line));
    expect(Number(counted?.split(' ').at(-1))).toBeGreaterThanOrEqual(1);
    expect(answer.body).not.toContain(ADMIN_TOKEN);
  });
});

describe('the envelope', () => {
  it('a creation is 201 with Location, ETag and the record in the envelope', async () => {
    const answer = await gateway.api('POST', '/apps', APP);
    const record = expectRecord(expectData(answer, 201));
    expect(answer.headers.get('etag')).toMatch(/^"[^"]+"$/);
    const location = answer.headers.get('location');
    expect(location).toBe(`/api/v1/apps/${record.id}`);
    const fetched = await gateway.api('GET', `/${location}`);
    expect(expectData(fetched)).toEqual(record);
    expect(fetched.headers.get('etag')).toBe(answer.headers.get('etag'));
  });

  it('lists add the page', async () => {
    const { data, page } = expectPage(await gateway.api('GET', '/apps'));
    expect(page).toEqual({ limit: 50, next_cursor: null, total: data.length });
  });

  it('a deletion is 204 without a body', async () => {
    await gateway.must('POST', '/apps', { name: 'x', slug: 'to-go', gateway_path: '/to-go' });
    const answer = await gateway.api('DELETE', '/apps/to-go');
    expect([answer.status, answer.body]).toEqual([204, undefined]);
    expectProblem(await gateway.api('GET', '/apps/to-go'), 'not_found');
    expectProblem(await gateway.api('DELETE', '/apps/to-go'), 'not_found');
  });

  it('HEAD answers as GET does, without the body', async () => {
    const get = await gateway.api('GET', '/apps/billing');
    const head = await gateway.api('HEAD', '/apps/billing');
    expect([head.status, head.body]).toEqual([200, undefined]);
    for (const name of ['etag', 'content-type', 'content-length']) {
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    }
  });

  it('answers are not to be stored by caches', async () => {
    for (const path of ['/apps/billing', '/apps/none', '/health']) {
      expect((await gateway.api('GET', path)).headers.get('cache-control'), path).toBe('no-store');
    }
  });

  it('every request has its own id, whatever the client sends', async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const answer = await gateway.api('GET', '/health', undefined, { 'x-request-id': 'mine' });
        return answer.headers.get('x-request-id');
      }),
    );
    expect(new Set(ids).size).toBe(5);
    expect(ids).not.toContain('mine');
  });
});

/** A request of which nothing can be believed: its answer is a problem document all the same, with its own id. */
function expectUnread(response: RawResponse): void {
  expect(response.status).toBe(400);
  const document = JSON.parse(response.body);
  expect(document).toMatchObject({ status: 400, code: 'bad_request', data: null });
  expect(document.request_id).toMatch(/\S/);
  expect(response.headers['x-request-id']).toBe(document.request_id);
}

describe('problems', () => {
  it.each([
    ['an unknown resource', 'GET', '/nothing'],
    ['another version of the API', 'GET', '//api/v2/apps'],
    ['no version of the API', 'GET', '//apps'],
    ['a trailing slash', 'GET', '/apps/'],
    ['a doubled slash', 'GET', '//api/v1//apps'],
    ['another case', 'GET', '/Apps'],
    ['the explorer, which is off by default', 'GET', '//swagger-ui/'],
    ['the explorer without its slash', 'GET', '//swagger-ui'],
    ['the root', 'GET', '//'],
    ['a record that does not exist', 'GET', '/apps/none'],
    ['a record below one that does not exist', 'GET', '/apps/none/versions/v1/revisions/r1/endpoints'],
    ['a version of another app', 'PATCH', '/apps/billing/versions/v9'],
  ])('%s is 404 with a whole problem document', async (_what, method, path) => {
    const instance = path.startsWith('//') ? path.slice(1) : `/api/v1${path}`;
    const answer = await gateway.api(method, path, method === 'PATCH' ? {} : undefined);
    expectProblem(answer, 'not_found', { instance });
  });

  it('instance is the path without the query', async () => {
    const answer = await gateway.api('GET', '/apps?limit=0');
    expectProblem(answer, 'invalid_query', { instance: '/api/v1/apps' });
  });

  it.each([
    ['PUT', '/apps', 'GET, HEAD, POST'],
    ['DELETE', '/apps', 'GET, HEAD, POST'],
    ['POST', '/apps/billing', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['PUT', '/admin/tokens/x', 'DELETE, GET, HEAD'],
    ['POST', '/health', 'GET, HEAD'],
    ['GET', '/apps/billing/versions/v1/revisions/r1/activate', 'POST'],
    ['PATCH', '/admin/tokens/x', 'DELETE, GET, HEAD'],
    ['DELETE', '/audit', 'GET, HEAD'],
    ['DELETE', '//healthz', 'GET, HEAD'],
  ])('%s %s is 405 with Allow', async (method, path, allow) => {
    const answer = await gateway.api(method, path);
    expectProblem(answer, 'management_method_not_allowed');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  it('paths with broken percent-encoding are 400', async () => {
    const response = await sendRaw(
      gateway.managementPort,
      `GET /api/v1/apps/%zz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n\r\n`,
    );
    expect(response.status).toBe(400);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expectUnread(response);
  });

  it('what is no HTTP is 400 with a problem document, and the connection is closed', async () => {
    for (const bytes of ['NONSENSE\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n']) {
      const response = await sendRaw(gateway.managementPort, bytes);
      expect(response.status).toBe(400);
      expect(response.headers['connection']).toBe('close');
      expectUnread(response);
    }
  });

  it('a request of HTTP/1.1 without Host is one, too; HTTP/1.0 needs none', async () => {
    const head = 'GET /api/v1/health HTTP/1.';
    expectUnread(await sendRaw(gateway.managementPort, `${head}1\r\nConnection: close\r\n\r\n`));
    expect((await sendRaw(gateway.managementPort, `${head}0\r\n\r\n`)).status).toBe(200);
  });

  it('a head that is too large is 431', async () => {
    const response = await sendRaw(
      gateway.managementPort,
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    );
    expect(response.status).toBe(431);
    expect(JSON.parse(response.body).code).toBe('header_too_large');
  });
});

describe('bodies that cannot be read', () => {
  const valid = JSON.stringify({ ...APP, slug: 'unread', gateway_path: '/unread' });

  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['nothing', ''],
    ['blanks', '  \n'],
    ['half of an object', '{"name": "x"'],
    ['a trailing comma', '{"name": "x",}'],
    ['single quotes', "{'name': 'x'}"],
    ['a comment', '{"name": "x" /* y */}'],
    ['something after the end', '{} {}'],
    ['a duplicate key', '{"name": "a", "slug": "b", "gateway_path": "/b", "name": "c"}'],
    ['a duplicate key that is spelled with escapes', '{"name": "a", "na\\u006de": "b"}'],
    [
      'a duplicate key deep inside',
      '{"name":"x","slug":"x","gateway_path":"/x","default_policy":{"rate_limit":{"requests":1,"requests":2}}}',
    ],
    ['NaN', '{"name": NaN}'],
    ['a control character in a string', '{"name": "a\u0001b"}'],
    ['an octet that is no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an overlong encoding', Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le')],
    ['brackets without end', '['.repeat(100_000)],
    ['objects a hundred deep', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`],
    ['form fields', 'name=x&slug=x'],
  ])('%s is 400', async (_what, bytes) => {
    expectProblem(await post(bytes, 'application/json'), 'invalid_json', { instance: '/api/v1/apps' });
  });

  it.each(['null', '[]', '"text"', '1', 'true'])('%s in place of an object is 422', async (text) => {
    expectProblem(await post(text, 'application/json'), 'validation_failed', { pointers: [''] });
  });

  it.each([
    null,
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/jsonx',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    '*/*',
  ])('a POST with Content-Type %s is 415', async (type) => {
    expectProblem(await post(valid, type), 'unsupported_media_type');
  });

  it('a compressed body is 415, since none is unpacked', async () => {
    const answer = await post(new Uint8Array(gzipSync(valid)), 'application/json', {
      'content-encoding': 'gzip',
    });
    expectProblem(answer, 'unsupported_media_type');
  });

  it('nothing of the above was stored', async () => {
    expectProblem(await gateway.api('GET', '/apps/unread'), 'not_found');
  });

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
  ])('Content-Type %s is fine', async (type) => {
    expectData(await post(valid, type), 201);
    await gateway.must('DELETE', '/apps/unread');
  });

  it('a PATCH may also be application/merge-patch+json', async () => {
    const headers = { 'content-type': 'application/merge-patch+json' };
    const answer = await gateway.api('PATCH', '/apps/envelope', { name: 'Merged' }, headers);
    expect(expectData(answer).name).toBe('Merged');
  });

  it('up to 1 MiB is read, a byte more is 413', async () => {
    const filled = (length: number): string => {
      const body = { ...APP, slug: 'large', gateway_path: '/large', description: '' };
      return JSON.stringify(body) + ' '.repeat(length - JSON.stringify(body).length);
    };
    expectData(await post(filled(1_048_576), 'application/json'), 201);
    expectProblem(await post(filled(1_048_577), 'application/json'), 'payload_too_large');
  });

  it('more than 1 MiB in chunks is 413, too, and does not wait for the rest', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const response = await sendRaw(
      gateway.managementPort,
      `POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(17)}`,
    );
    expect(response.status).toBe(413);
    expect(JSON.parse(response.body).code).toBe('payload_too_large');
  });

  it('a large body without a token is 401: it is not read first', async () => {
    const response = await sendRaw(
      gateway.managementPort,
      'POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n{',
    );
    expect(response.status).toBe(401);
  });
});

describe('versioning', () => {
  it('spec 9: the API is under /api/v1; with another version there is nothing', async () => {
    expectPage(await gateway.api('GET', '//api/v1/apps'));
    for (const path of ['//api/apps', '//api/v0/apps', '//api/v2/apps', '//v1/apps', '//api/v1.0/apps']) {
      expectProblem(await gateway.api('GET', path), 'not_found');
    }
  });

  it('spec 9: several versions of one app exist side by side', async () => {
    for (const version of ['v2', '2026-01-31', 'beta.1', 'V2']) {
      const created = await gateway.must('POST', '/apps/billing/versions', { version });
      expect(created.gateway_path).toBe(`/billing/${version}`);
    }
    const { data } = expectPage(await gateway.api('GET', '/apps/billing/versions'));
    expect(data.map(({ version }) => version)).toEqual(['v1', 'v2', '2026-01-31', 'beta.1', 'V2']);
  });
});
