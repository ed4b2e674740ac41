/** Contract parts 1, 2 and 4 "Traffic path": from a request path to a version, and from there to a backend's URL. */
import { readFileSync } from 'node:fs';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  createApp,
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  echoed,
  problem,
  request,
  revisionPath,
  versionPath,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let other: Origin;

beforeAll(async () => {
  [gateway, origin, other] = await Promise.all([startGateway(), startOrigin(), startOrigin()]);
  await createService(gateway, 'billing', origin.port);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), other.close()]);
});

const upstreamUrl = async (target: string): Promise<string> => echoed(await request(gateway, target)).url;

describe('routing modes', () => {
  it('spec 1: pass_through routes every path under the app to the backend', async () => {
    for (const path of ['/', '/invoices', '/a/b/c/d', '/x.json', '/trailing/']) {
      expect(await upstreamUrl(`/billing/v1${path}`)).toBe(path);
    }
  });

  it('spec 1: pass_through passes every method on', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'PURGE']) {
      expect(echoed(await request(gateway, '/billing/v1/x', { method })).method).toBe(method);
    }
  });

  it('spec 1: managed_endpoint reaches registered endpoints only, anything else is 404', async () => {
    await createService(gateway, 'managed', origin.port, { app: { routing_mode: 'managed_endpoint' } });
    await createEndpoint(gateway, 'managed', 'GET', '/invoices');
    expect(await upstreamUrl('/managed/v1/invoices')).toBe('/invoices');
    const before = origin.seen.length;
    for (const target of ['/managed/v1', '/managed/v1/', '/managed/v1/other', '/managed/v1/invoices/7']) {
      const response = await request(gateway, target);
      expect(response.status).toBe(404);
      expect(problem(response).code).toBe('endpoint_not_found');
    }
    expect(origin.seen).toHaveLength(before);
  });

  it('routing_mode defaults to pass_through and can be changed live', async () => {
    const app = await createApp(gateway, 'modes');
    expect(app.routing_mode).toBe('pass_through');
    await createVersion(gateway, 'modes');
    await createRevision(gateway, 'modes', origin.port);
    expect((await request(gateway, '/modes/v1/x')).status).toBe(200);
    await gateway.must('PATCH', '/apps/modes', { routing_mode: 'managed_endpoint' });
    expect((await request(gateway, '/modes/v1/x')).status).toBe(404);
    await gateway.must('PATCH', '/apps/modes', { routing_mode: 'pass_through' });
    expect((await request(gateway, '/modes/v1/x')).status).toBe(200);
  });
});

describe('the version of a path', () => {
  it('spec 2: gateway_path of a version defaults to <app.gateway_path>/<version>', async () => {
    const version = await gateway.must('GET', versionPath('billing'));
    expect(version.gateway_path).toBe('/billing/v1');
  });

  it('spec 2: gateway_path may be given explicitly, and the default path then leads nowhere', async () => {
    await createService(gateway, 'explicit', origin.port, {
      app: { gateway_path: '/x/explicit' },
      version: { gateway_path: '/public/api/2024-01' },
    });
    expect(await upstreamUrl('/public/api/2024-01/invoices')).toBe('/invoices');
    const response = await request(gateway, '/x/explicit/v1/invoices');
    expect(problem(response)).toMatchObject({ status: 404, code: 'no_route' });
  });

  it('spec 9: several versions of one app exist side by side', async () => {
    await createApp(gateway, 'side');
    for (const [label, backend] of [
      ['v1', origin],
      ['v2', other],
      ['2024-06-01', other],
    ] as const) {
      await createVersion(gateway, 'side', label);
      await createRevision(gateway, 'side', backend.port, { backend_base_path: `/${label}` }, label);
    }
    for (const label of ['v1', 'v2', '2024-06-01']) {
      expect(await upstreamUrl(`/side/${label}/x`)).toBe(`/${label}/x`);
    }
    expect((await request(gateway, '/side/v3/x')).status).toBe(404);
  });

  it('the version with the longest gateway_path that is a whole-segment prefix wins', async () => {
    await createApp(gateway, 'nested');
    for (const [label, path] of [
      ['outer', '/nested'],
      ['middle', '/nested/a'],
      ['inner', '/nested/a/b'],
    ] as const) {
      await createVersion(gateway, 'nested', label, { gateway_path: path });
      await createRevision(gateway, 'nested', origin.port, { backend_base_path: `/${label}` }, label);
    }
    const cases: readonly (readonly [string, string])[] = [
      ['/nested', '/outer/'],
      ['/nested/', '/outer/'],
      ['/nested/abc', '/outer/abc'],
      ['/nested/a', '/middle/'],
      ['/nested/a/bc', '/middle/bc'],
      ['/nested/a/b', '/inner/'],
      ['/nested/a/b/c', '/inner/c'],
    ];
    for (const [target, url] of cases) expect([target, await upstreamUrl(target)]).toEqual([target, url]);
    expect((await request(gateway, '/nestedx/a')).status).toBe(404);
  });

  it('the longest prefix wins even when it has nothing to serve with', async () => {
    await createVersion(gateway, 'nested', 'empty', { gateway_path: '/nested/empty' });
    const response = await request(gateway, '/nested/empty/x');
    expect(problem(response)).toMatchObject({ status: 503, code: 'no_revision' });
    await gateway.must('PATCH', versionPath('nested', 'empty'), { status: 'retired' });
    expect((await request(gateway, '/nested/empty/x')).status).toBe(410);
  });

  it('gateway_path "/" takes what no other version has', async () => {
    await createService(gateway, 'root', other.port, {
      app: { gateway_path: '/' },
      version: { gateway_path: '/' },
    });
    expect(await upstreamUrl('/anything/at/all')).toBe('/anything/at/all');
    expect(await upstreamUrl('/')).toBe('/');
    expect(await upstreamUrl('/billing/v1/x')).toBe('/x');
    await gateway.must('DELETE', '/apps/root?cascade=true');
    expect((await request(gateway, '/anything')).status).toBe(404);
  });

  it('gateway_path is unique over all versions (409)', async () => {
    await createApp(gateway, 'unique');
    const taken = await gateway.api('POST', '/apps/unique/versions', {
      version: 'v1',
      gateway_path: '/billing/v1',
    });
    expect(taken.status).toBe(409);
    expect(await upstreamUrl('/billing/v1/x')).toBe('/x');
  });

  it('default paths follow the app’s gateway_path, explicit ones stay', async () => {
    await createService(gateway, 'moving', origin.port);
    await createVersion(gateway, 'moving', 'v2', { gateway_path: '/fixed/v2' });
    await createRevision(gateway, 'moving', origin.port, {}, 'v2');
    await gateway.must('PATCH', '/apps/moving', { gateway_path: '/moved' });
    expect(await upstreamUrl('/moved/v1/x')).toBe('/x');
    expect(await upstreamUrl('/fixed/v2/x')).toBe('/x');
    expect((await request(gateway, '/moving/v1/x')).status).toBe(404);
    expect((await gateway.must('GET', versionPath('moving'))).gateway_path).toBe('/moved/v1');
  });

  it('spec 4: a request outside of every gateway_path is 404 with a problem document', async () => {
    const response = await request(gateway, '/nowhere/v1');
    expect(response.status).toBe(404);
    expect(problem(response)).toMatchObject({
      type: 'urn:headgate:error:no_route',
      status: 404,
      code: 'no_route',
      instance: '/nowhere/v1',
      data: null,
      request_id: response.headers['x-request-id'],
    });
  });
});

describe('the upstream URL', () => {
  it('spec 2: strip_gateway_path defaults to true and removes the version’s gateway_path', async () => {
    expect((await gateway.must('GET', revisionPath('billing'))).strip_gateway_path).toBe(true);
    expect(await upstreamUrl('/billing/v1/invoices')).toBe('/invoices');
  });

  it('spec 4: strip_gateway_path false forwards the full path unchanged', async () => {
    await createService(gateway, 'full', origin.port, { revision: { strip_gateway_path: false } });
    for (const target of ['/full/v1/invoices', '/full/v1/a/b?x=1', '/full/v1/', '/full/v1']) {
      expect(await upstreamUrl(target)).toBe(target);
    }
  });

  it('spec 2: backend_base_path is put in front, with and without stripping', async () => {
    await createService(gateway, 'based', origin.port, { revision: { backend_base_path: '/internal/api' } });
    expect(await upstreamUrl('/based/v1/invoices')).toBe('/internal/api/invoices');
    expect(await upstreamUrl('/based/v1')).toBe('/internal/api/');
    await gateway.must('PATCH', revisionPath('based'), { strip_gateway_path: false });
    expect(await upstreamUrl('/based/v1/invoices')).toBe('/internal/api/based/v1/invoices');
    await gateway.must('PATCH', revisionPath('based'), {
      strip_gateway_path: true,
      backend_base_path: '/slash/',
    });
    expect(await upstreamUrl('/based/v1/invoices')).toBe('/slash/invoices');
    await gateway.must('PATCH', revisionPath('based'), { backend_base_path: '/' });
    expect(await upstreamUrl('/based/v1/invoices')).toBe('/invoices');
  });

  it('spec 4: backend_host and backend_port say where to, by name and by address', async () => {
    await createService(gateway, 'where', origin.port);
    await gateway.must('PATCH', revisionPath('where'), { backend_port: other.port });
    const before = other.seen.length;
    expect(await upstreamUrl('/where/v1/x')).toBe('/x');
    expect(other.seen).toHaveLength(before + 1);
    await gateway.must('PATCH', revisionPath('where'), { backend_host: 'localhost' });
    const seen = echoed(await request(gateway, '/where/v1/y'));
    expect(seen.headers.host).toBe(`localhost:${other.port}`);
  });

  it('spec 2: backend_scheme defaults to https, the port to 443, the base path to /, the weight to 100', async () => {
    const revision = await gateway.must('POST', `${versionPath('billing')}/revisions`, {
      revision: 'defaults',
      backend_host: 'backend.invalid',
    });
    expect(revision).toMatchObject({
      backend_scheme: 'https',
      backend_port: 443,
      backend_base_path: '/',
      strip_gateway_path: true,
      traffic_weight: 100,
      health_check_path: null,
      default_policy: null,
      is_current: false,
    });
  });

  it('spec 2: backend_scheme https speaks TLS: a plain HTTP backend is 502', async () => {
    await createService(gateway, 'tls', origin.port, { revision: { backend_scheme: 'https' } });
    const response = await request(gateway, '/tls/v1/x');
    expect(problem(response)).toMatchObject({ status: 502, code: 'upstream_connect_failed' });
  });

  it('spec 2: an https backend is reached with its certificate verified, against the revision’s own authority', async () => {
    const pem = (name: string): string =>
      readFileSync(join(import.meta.dirname, '../../support/tls', name), 'utf8');
    const secure = https.createServer(
      { cert: pem('backend.pem'), key: pem('backend-key.pem') },
      (incoming, response) => void response.end(`over TLS: ${incoming.url}`),
    );
    await new Promise<void>((done) => secure.listen(0, '127.0.0.1', done));
    const { port } = secure.address() as AddressInfo;
    await createService(gateway, 'secure', port, { revision: { backend_scheme: 'https' } });
    expect(problem(await request(gateway, '/secure/v1/x')).code).toBe('upstream_connect_failed');
    await gateway.must('PATCH', revisionPath('secure'), { backend_tls: { ca: pem('ca.pem') } });
    expect(await request(gateway, '/secure/v1/x')).toMatchObject({ status: 200, body: 'over TLS: /x' });
    await gateway.must('PATCH', revisionPath('secure'), {
      backend_tls: { ca: pem('ca.pem'), server_name: 'other.test' },
    });
    expect((await request(gateway, '/secure/v1/x')).status).toBe(502);
    await gateway.must('PATCH', revisionPath('secure'), { backend_tls: { verify: false, ca: null } });
    expect((await request(gateway, '/secure/v1/x')).status).toBe(200);
    secure.closeAllConnections();
    await new Promise((done) => secure.close(done));
  });

  it('a bare gateway_path, with or without its slash, is forwarded as /', async () => {
    expect(await upstreamUrl('/billing/v1')).toBe('/');
    expect(await upstreamUrl('/billing/v1/')).toBe('/');
    expect(await upstreamUrl('/billing/v1?page=2')).toBe('/?page=2');
  });

  it('a trailing slash is part of the path', async () => {
    expect(await upstreamUrl('/billing/v1/invoices/')).toBe('/invoices/');
    expect(await upstreamUrl('/billing/v1/invoices')).toBe('/invoices');
  });

  it('query strings pass through untouched', async () => {
    const queries = [
      '?',
      '?a=1&a=2&b=%20+%2B',
      '?next=http://elsewhere.test/../x//y;z',
      '?%zz=%',
      '?a?b',
      '?x=\'"[]{}|',
      '?path=/../../etc',
    ];
    for (const query of queries) expect(await upstreamUrl(`/billing/v1/x${query}`)).toBe(`/x${query}`);
  });

  it('RFC 9112 3.2.2: an absolute-form target is routed by its path', async () => {
    expect(await upstreamUrl('http://gateway.test/billing/v1/x?y=1')).toBe('/x?y=1');
    expect((await request(gateway, 'http://gateway.test/elsewhere')).status).toBe(404);
  });
});

describe('the body', () => {
  it('spec 1: request and response bodies pass unchanged in both directions', async () => {
    const body = Array.from({ length: 256 }, (_, octet) => String.fromCharCode(octet))
      .join('')
      .repeat(200);
    const seen = echoed(await request(gateway, '/billing/v1/upload', { method: 'POST', body }));
    expect(seen.body === body).toBe(true);
  });

  it('spec 1: the backend’s status and header fields reach the client', async () => {
    const teapot = await startOrigin((_request, response) => {
      response.writeHead(418, {
        'X-Kind': 'teapot',
        'Set-Cookie': ['a=1', 'b=2'],
        'Content-Type': 'text/plain',
      });
      response.end('short and stout');
    });
    await createService(gateway, 'teapot', teapot.port);
    const response = await request(gateway, '/teapot/v1/x');
    expect(response).toMatchObject({ status: 418, body: 'short and stout' });
    expect(response.headers).toMatchObject({ 'x-kind': 'teapot', 'set-cookie': 'a=1, b=2' });
    await teapot.close();
  });

  it('a backend that cannot be reached is 502, and works as soon as it is there', async () => {
    await createService(gateway, 'gone', await freePort());
    const response = await request(gateway, '/gone/v1/x');
    expect(problem(response)).toMatchObject({ status: 502, code: 'upstream_connect_failed' });
    await gateway.must('PATCH', revisionPath('gone'), { backend_port: origin.port });
    expect((await request(gateway, '/gone/v1/x')).status).toBe(200);
  });
});
