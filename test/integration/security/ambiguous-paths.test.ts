/**
 * Paths that a backend could read as another place: those that decoding once more leads out of `backend_base_path` or
 * of the version's part of it, and names that case folding makes one. They are refused, and explain says why.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { sendRaw, type RawResponse } from '../../support/clients/raw-client.ts';

let origin: Origin;
let proxy: TestProxy;

beforeAll(async () => {
  origin = await startOrigin();
  const change = oneRoute({
    backendPort: origin.port,
    app: { allow_encoded_slashes: true },
    revision: { backend_base_path: '/tenant/public' },
    endpoints: [
      { path: '/kiss/admin', policy_override: { auth: { auth_type: 'api_key' } } },
      { path: '/files/{name}/{rest}', backend_path: '/{name}/{rest}' },
    ],
  });
  proxy = await startProxy(change);
});
afterAll(async () => {
  await proxy.close();
  await origin.close();
});

const get = (path: string): Promise<RawResponse> =>
  sendRaw(proxy.port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);

describe('a path that would lead out of backend_base_path', () => {
  it.each([
    '/a/v1/%252e%252e/private',
    '/a/v1/%25%32%65%25%32%65/private',
    '/a/v1/%25252e%25252e%25252fprivate',
    '/a/v1/x/%252e%252e/%252e%252e/private',
    '/a/v1/..%252f..%252fprivate',
    '/a/v1/..%255cprivate',
    '/a/v1/..%20/private',
    '/a/v1/%ef%bc%8e%ef%bc%8e/private',
    '/a/v1/%252e%252e%252fprivate?x=1',
    // By a value that is filled into backend_path: the rest of the path itself stays below.
    '/a/v1/files/%252e%252e/private',
  ])('%s is refused', async (path) => {
    const before = origin.seen.length;
    const response = await get(path);
    expect([response.status, JSON.parse(response.body).code]).toEqual([400, 'bad_path']);
    expect(origin.seen).toHaveLength(before);
    const explained = await proxy.explain({ method: 'GET', url: path });
    expect(explained).toMatchObject({ code: 'bad_path', fix: { action: 'correct_path' } });
  });

  it.each(['/a/v1/x/%252e%252e/y', '/a/v1/100%25', '/a/v1/a%20b.c', '/a/v1/%E2%82%AC'])(
    '%s stays below it and is served',
    async (path) => {
      expect((await get(path)).status).toBe(200);
      expect(origin.seen.at(-1)?.url.startsWith('/tenant/public/')).toBe(true);
    },
  );
});

describe('a name that folds into that of a protected endpoint', () => {
  it.each([
    ['a dotless i', '/a/v1/kiss/adm%C4%B1n'],
    ['a dotted capital I', '/a/v1/kiss/adm%C4%B0n'],
    ['the sign for Kelvin', '/a/v1/%E2%84%AAiss/admin'],
    ['a long s', '/a/v1/ki%C5%BF%C5%BF/admin'],
    ['a sharp s', '/a/v1/ki%C3%9F/admin'],
    ['full-width letters', '/a/v1/kiss/%EF%BD%81dmin'],
    ['full-width letters encoded twice', '/a/v1/kiss/%25EF%25BD%2581dmin'],
    ['a space without width', '/a/v1/kiss/ad%E2%80%8Bmin'],
  ])('with %s is refused', async (_what, path) => {
    const before = origin.seen.length;
    const response = await get(path);
    expect([response.status, JSON.parse(response.body).code]).toEqual([400, 'bad_path']);
    expect(origin.seen).toHaveLength(before);
  });

  it('another name is served', async () => {
    expect((await get('/a/v1/kiss/adm%C4%B1nx')).status).toBe(200);
  });
});
