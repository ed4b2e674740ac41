/** Contract parts 2, 3 and 4 on endpoints: method and path, parameters, wildcards, backend paths, activity. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createEndpoint, createService, problem, request, revisionPath } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;

const MANAGED = { app: { routing_mode: 'managed_endpoint' } };

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** The URL that the backend saw, or the status when it saw nothing. */
async function outcome(target: string, method = 'GET'): Promise<string | number> {
  const before = origin.seen.length;
  const response = await request(gateway, target, { method });
  const seen = origin.seen[before];
  if (response.status === 200 && seen !== undefined) return seen.url;
  return response.status;
}

type Outcomes = readonly (readonly [target: string, urlOrStatus: string | number])[];

/** What came of GET to each of the targets, in the shape of what was expected. */
async function outcomesOf(cases: Outcomes): Promise<Outcomes> {
  const results: [string, string | number][] = [];
  for (const [target] of cases) results.push([target, await outcome(target)]);
  return results;
}

describe('method and path', () => {
  beforeAll(async () => {
    await createService(gateway, 'methods', origin.port, MANAGED);
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      await createEndpoint(gateway, 'methods', method, `/${method.toLowerCase()}`);
    }
    await createEndpoint(gateway, 'methods', '*', '/any');
  });

  it('spec 4: method plus path must match a registered endpoint', async () => {
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
    for (const registered of methods) {
      for (const method of methods) {
        const result = await outcome(`/methods/v1/${registered.toLowerCase()}`, method);
        const expected = method === registered ? `/${registered.toLowerCase()}` : 404;
        expect([registered, method, result]).toEqual([registered, method, expected]);
      }
    }
  });

  it('spec 4: * matches any method', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      expect(await outcome('/methods/v1/any', method)).toBe('/any');
    }
  });

  it('RFC 9110 9.1: methods are case-sensitive', async () => {
    expect(await outcome('/methods/v1/get', 'get')).toBe(404);
  });

  it('HEAD is served by a GET endpoint and by *, not by POST', async () => {
    for (const path of ['/get', '/any']) {
      const before = origin.seen.length;
      const response = await request(gateway, `/methods/v1${path}`, { method: 'HEAD' });
      expect(response).toMatchObject({ status: 200, body: '' });
      expect(origin.seen.slice(before).map(({ method, url }) => [method, url])).toEqual([['HEAD', path]]);
    }
    const refused = await request(gateway, '/methods/v1/post', { method: 'HEAD' });
    expect(refused.status).toBe(404);
    expect(Number(refused.headers['content-length'])).toBeGreaterThan(0);
  });

  it('an exact method has priority over *, in any order of registration', async () => {
    await createService(gateway, 'exact', origin.port, MANAGED);
    await createEndpoint(gateway, 'exact', '*', '/a', { backend_path: '/star' });
    await createEndpoint(gateway, 'exact', 'GET', '/a', { backend_path: '/get' });
    await createEndpoint(gateway, 'exact', 'POST', '/b', { backend_path: '/post' });
    await createEndpoint(gateway, 'exact', '*', '/b', { backend_path: '/star' });
    expect(await outcome('/exact/v1/a')).toBe('/get');
    expect(await outcome('/exact/v1/a', 'HEAD')).toBe('/get');
    expect(await outcome('/exact/v1/a', 'PUT')).toBe('/star');
    expect(await outcome('/exact/v1/b', 'POST')).toBe('/post');
    expect(await outcome('/exact/v1/b')).toBe('/star');
  });

  it('spec 2: paths are relative to the version’s gateway_path and compared whole, with their case', async () => {
    const cases: Outcomes = [
      ['/methods/v1/get', '/get'],
      ['/methods/v1/get?x=1', '/get?x=1'],
      ['/methods/v1/get/', 404],
      ['/methods/v1/get/x', 404],
      ['/methods/v1/ge', 404],
      ['/methods/v1/gets', 404],
      ['/methods/v1/GET', 404],
      ['/methods/v1/methods/v1/get', 404],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });

  it('an endpoint / is the bare gateway_path', async () => {
    await createService(gateway, 'bare', origin.port, MANAGED);
    await createEndpoint(gateway, 'bare', 'GET', '/');
    const cases: Outcomes = [
      ['/bare/v1', '/'],
      ['/bare/v1/', '/'],
      ['/bare/v1/x', 404],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });
});

describe('parameters and wildcards', () => {
  beforeAll(async () => {
    await createService(gateway, 'params', origin.port, MANAGED);
    const endpoints: readonly (readonly [string, string | undefined])[] = [
      ['/users/{id}', '/u/{id}'],
      ['/users/me', '/self'],
      ['/users/{id}/posts/{post}', '/posts/{post}/of/{id}'],
      ['/users/{id}/avatar', undefined],
      ['/files/*', '/store/*'],
      ['/files/readme', '/static-readme'],
      ['/fixed/*', '/always/the/same'],
      ['/in-segment/{name}', '/item-{name}.json'],
    ];
    for (const [path, backend_path] of endpoints) {
      await createEndpoint(
        gateway,
        'params',
        'GET',
        path,
        backend_path === undefined ? {} : { backend_path },
      );
    }
  });

  it('{name} takes exactly one segment that is not empty', async () => {
    const cases: Outcomes = [
      ['/params/v1/users/7', '/u/7'],
      ['/params/v1/users/7/avatar', '/users/7/avatar'],
      ['/params/v1/users/7/posts/42', '/posts/42/of/7'],
      ['/params/v1/users/', 404],
      ['/params/v1/users', 404],
      ['/params/v1/users/7/', 404],
      ['/params/v1/users/7/other', 404],
      ['/params/v1/users//avatar', 400],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });

  it('a final * takes any rest, the empty one included', async () => {
    const cases: Outcomes = [
      ['/params/v1/files/a', '/store/a'],
      ['/params/v1/files/a/b/c.txt', '/store/a/b/c.txt'],
      ['/params/v1/files/a/', '/store/a/'],
      ['/params/v1/files/', '/store/'],
      ['/params/v1/files', 404],
      ['/params/v1/fixed/a/b', '/always/the/same'],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });

  it('literal beats parameter beats wildcard', async () => {
    await createService(gateway, 'order', origin.port, MANAGED);
    await createEndpoint(gateway, 'order', 'GET', '/*', { backend_path: '/wildcard' });
    await createEndpoint(gateway, 'order', 'GET', '/{a}/x', { backend_path: '/parameter' });
    await createEndpoint(gateway, 'order', 'GET', '/lit/x', { backend_path: '/literal' });
    await createEndpoint(gateway, 'order', 'GET', '/lit/{b}/y', { backend_path: '/literal-parameter' });
    const cases: Outcomes = [
      ['/order/v1/lit/x', '/literal'],
      ['/order/v1/other/x', '/parameter'],
      ['/order/v1/lit/q/y', '/literal-parameter'],
      ['/order/v1/other/y', '/wildcard'],
      ['/order/v1/lit/q', '/wildcard'],
      ['/order/v1', '/wildcard'],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });

  it('a route that fits better but has not the method gives way to one that has', async () => {
    await createService(gateway, 'giveway', origin.port, MANAGED);
    await createEndpoint(gateway, 'giveway', 'POST', '/a', { backend_path: '/literal' });
    await createEndpoint(gateway, 'giveway', 'GET', '/{x}', { backend_path: '/parameter' });
    expect(await outcome('/giveway/v1/a', 'POST')).toBe('/literal');
    expect(await outcome('/giveway/v1/a', 'GET')).toBe('/parameter');
    expect(await outcome('/giveway/v1/a', 'PUT')).toBe(404);
  });

  it('values are filled in re-encoded, and cannot leave their segment', async () => {
    const cases: Outcomes = [
      ['/params/v1/users/a%20b', '/u/a%20b'],
      ['/params/v1/users/%7Bid%7D', '/u/%7Bid%7D'],
      ['/params/v1/users/a%3Fb=1', '/u/a%3Fb=1'],
      ['/params/v1/users/a%23b', '/u/a%23b'],
      ['/params/v1/users/%41', '/u/A'],
      ['/params/v1/users/%c3%bc', '/u/%C3%BC'],
      ['/params/v1/users/a;b=c', '/u/a;b=c'],
      ['/params/v1/in-segment/x', '/item-x.json'],
      ['/params/v1/users/..', 400],
      ['/params/v1/users/%2e%2e', 400],
      ['/params/v1/users/a%2Fb', 400],
      ['/params/v1/users/..%2Fadmin', 400],
      ['/params/v1/files/../users/me', 400],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });

  it('an encoded slash is a character of its segment where the app allows it', async () => {
    await createService(gateway, 'slashes', origin.port, {
      app: { routing_mode: 'managed_endpoint', allow_encoded_slashes: true },
    });
    await createEndpoint(gateway, 'slashes', 'GET', '/projects/{path}', { backend_path: '/p/{path}/info' });
    await createEndpoint(gateway, 'slashes', 'GET', '/projects/{path}/files');
    const cases: Outcomes = [
      ['/slashes/v1/projects/group%2Fname', '/p/group%2Fname/info'],
      ['/slashes/v1/projects/group%2fname/files', '/projects/group%2Fname/files'],
      ['/slashes/v1/projects/group/name', 404],
      ['/slashes/v1/projects%2Fgroup', 404],
      ['/slashes/v1%2Fprojects/x', 404],
      ['/slashes/v1/projects/..%2Fadmin', 400],
      ['/slashes/v1/projects/a%2F..%2Fb', 400],
      ['/slashes/v1/projects/a%2F%2e%2e', 400],
      ['/slashes/v1/projects/a%2F.;x%2Fb', 400],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });
});

describe('backend_path', () => {
  it('spec 2: overrides the upstream path and defaults to path', async () => {
    await createService(gateway, 'backend', origin.port, {
      ...MANAGED,
      revision: { backend_base_path: '/base' },
    });
    await createEndpoint(gateway, 'backend', 'GET', '/default');
    const endpoint = await createEndpoint(gateway, 'backend', 'GET', '/invoices', {
      backend_path: '/old/list',
    });
    const cases: Outcomes = [
      ['/backend/v1/default', '/base/default'],
      ['/backend/v1/invoices?page=2', '/base/old/list?page=2'],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
    const path = `${revisionPath('backend')}/endpoints/${endpoint.id}`;
    await gateway.must('PATCH', path, { backend_path: '/new' });
    expect(await outcome('/backend/v1/invoices')).toBe('/base/new');
    await gateway.must('PATCH', path, { backend_path: null });
    expect(await outcome('/backend/v1/invoices')).toBe('/base/invoices');
  });

  it('backend_path is used instead of the full path when strip_gateway_path is false', async () => {
    await createService(gateway, 'unstripped', origin.port, {
      ...MANAGED,
      revision: { strip_gateway_path: false },
    });
    await createEndpoint(gateway, 'unstripped', 'GET', '/a', { backend_path: '/other' });
    await createEndpoint(gateway, 'unstripped', 'GET', '/b');
    const cases: Outcomes = [
      ['/unstripped/v1/a', '/other'],
      ['/unstripped/v1/b', '/unstripped/v1/b'],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
  });
});

describe('activity', () => {
  it('spec 3: is_active false disables the endpoint: clients receive 404; true brings it back', async () => {
    await createService(gateway, 'active', origin.port, MANAGED);
    const endpoint = await createEndpoint(gateway, 'active', 'GET', '/x');
    expect(endpoint.is_active).toBe(true);
    await createEndpoint(gateway, 'active', 'GET', '/y');
    const path = `${revisionPath('active')}/endpoints/${endpoint.id}`;
    expect(await outcome('/active/v1/x')).toBe('/x');
    const disabled = await gateway.must('PATCH', path, { is_active: false });
    expect(disabled.is_active).toBe(false);
    const response = await request(gateway, '/active/v1/x');
    expect(problem(response)).toMatchObject({ status: 404, code: 'endpoint_disabled' });
    expect(await outcome('/active/v1/x', 'HEAD')).toBe(404);
    expect(await outcome('/active/v1/y')).toBe('/y');
    await gateway.must('PATCH', path, { is_active: true });
    expect(await outcome('/active/v1/x')).toBe('/x');
  });

  it('spec 2: an endpoint can be created disabled', async () => {
    await createEndpoint(gateway, 'active', 'GET', '/born-disabled', { is_active: false });
    expect(await outcome('/active/v1/born-disabled')).toBe(404);
  });

  it('a disabled endpoint is not replaced by a wider one that would match, too', async () => {
    await createService(gateway, 'wider', origin.port, MANAGED);
    await createEndpoint(gateway, 'wider', 'GET', '/*');
    await createEndpoint(gateway, 'wider', '*', '/admin/{id}');
    await createEndpoint(gateway, 'wider', 'GET', '/admin/keys', { is_active: false });
    const cases: Outcomes = [
      ['/wider/v1/admin/keys', 404],
      ['/wider/v1/admin/other', '/admin/other'],
      ['/wider/v1/else', '/else'],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
    expect(await outcome('/wider/v1/admin/keys', 'HEAD')).toBe(404);
  });

  it('spec 7: a deleted endpoint is 404 in managed mode', async () => {
    const endpoint = await createEndpoint(gateway, 'active', 'DELETE', '/gone');
    expect(await outcome('/active/v1/gone', 'DELETE')).toBe('/gone');
    await gateway.must('DELETE', `${revisionPath('active')}/endpoints/${endpoint.id}`);
    expect(await outcome('/active/v1/gone', 'DELETE')).toBe(404);
  });
});

describe('pass_through', () => {
  it('endpoints are optional refinements; a disabled one is 404', async () => {
    await createService(gateway, 'refined', origin.port);
    await createEndpoint(gateway, 'refined', 'GET', '/a', { backend_path: '/elsewhere' });
    await createEndpoint(gateway, 'refined', 'GET', '/off', { is_active: false });
    await createEndpoint(gateway, 'refined', '*', '/items/{id}', { backend_path: '/i/{id}' });
    const cases: Outcomes = [
      ['/refined/v1/a', '/elsewhere'],
      ['/refined/v1/a/b', '/a/b'],
      ['/refined/v1/off', 404],
      // Most backends take it for the disabled one.
      ['/refined/v1/off/', 400],
      ['/refined/v1/a/', '/a/'],
      ['/refined/v1/items/7', '/i/7'],
      ['/refined/v1/items/7/8', '/items/7/8'],
      ['/refined/v1/anything', '/anything'],
    ];
    expect(await outcomesOf(cases)).toEqual(cases);
    expect(await outcome('/refined/v1/a', 'POST')).toBe('/a');
    expect(await outcome('/refined/v1/off', 'HEAD')).toBe(404);
    expect(await outcome('/refined/v1/off', 'POST')).toBe('/off');
  });
});
