/**
 * Apps by host name: which app a request reaches, however it names its host, and what takes a host that others have.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { createApp, createRevision, createVersion, request, type Fields } from '../../support/traffic.ts';

let gateway: TestGateway;
/** One for each app: the answer tells which it was. */
const origins = new Map<string, Origin>();

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_WORKERS: '2' } });
});
afterAll(async () => {
  await gateway.stop();
  for (const origin of origins.values()) await origin.close();
});

async function originOf(slug: string): Promise<Origin> {
  const known = origins.get(slug);
  if (known !== undefined) return known;
  const origin = await startOrigin((_request, response) => response.end(slug));
  origins.set(slug, origin);
  return origin;
}

async function service(slug: string, fields: Fields, version: Fields = {}): Promise<void> {
  await createApp(gateway, slug, fields);
  await createVersion(gateway, slug, 'v1', version);
  await createRevision(gateway, slug, (await originOf(slug)).port);
}

/** The slug of the app that answers, or the error. */
async function answerOf(target: string, host: string): Promise<string> {
  const { status, body } = await request(gateway, target, { headers: { Host: host } });
  return status === 200 ? body : `${status} ${(JSON.parse(body) as { code: string }).code}`;
}

/** As `answerOf` for a head that is written out. */
async function answerTo(...lines: string[]): Promise<string> {
  const { status, body } = await sendRaw(gateway.proxyPort, `${lines.join('\r\n')}\r\n\r\n`);
  return status === 200 ? body : `${status} ${(JSON.parse(body) as { code: string }).code}`;
}

describe('one path of several apps', () => {
  beforeAll(async () => {
    const at = (path: string, ...hosts: string[]): Fields => ({ gateway_path: path, hosts });
    await service('exact', at('/one', 'API.one.test.'));
    await service('wild', at('/one', '*.one.test'));
    await service('deep', at('/one', '*.eu.one.test'));
    await service('every', at('/one'));
    await service('idna', at('/one', 'bücher.test'));
    await service('other', at('/other', 'api.one.test'));
    await service('slash', { gateway_path: '/slash', hosts: ['slash.test'] }, { gateway_path: '/' });
  });

  it.each([
    ['api.one.test', 'exact'],
    ['API.One.Test', 'exact'],
    ['api.one.test:8080', 'exact'],
    ['api.one.test.', 'exact'],
    ['api.one.test.:443', 'exact'],
    ['a.one.test', 'wild'],
    ['x.api.one.test', 'wild'],
    ['a.eu.one.test', 'deep'],
    ['a.b.eu.one.test', 'deep'],
    ['eu.one.test', 'wild'],
    ['one.test', 'every'],
    ['badone.test', 'every'],
    ['localhost', 'every'],
    ['127.0.0.1', 'every'],
    ['[::1]:8080', 'every'],
    ['xn--bcher-kva.test', 'idna'],
    ['XN--BCHER-KVA.TEST.', 'idna'],
  ])('%s reaches %s', async (host, slug) => {
    expect(await answerOf('/one/v1/x', host)).toBe(slug);
  });

  it('a host comes before the length of a path, and leaves other paths to the next', async () => {
    expect(await answerOf('/one/v1', 'slash.test')).toBe('slash');
    expect(await answerOf('/other/v1', 'api.one.test')).toBe('other');
    expect(await answerOf('/other/v1', 'a.one.test')).toBe('404 no_route');
    expect(await answerOf('/nothing', 'api.one.test')).toBe('404 no_route');
    expect(await answerOf('/other/v1', 'unknown.test')).toBe('404 no_route');
  });

  it.each([
    ['a list', 'Host: api.one.test, a.one.test', '400 bad_request'],
    ['user information', 'Host: api.one.test@a.one.test', '400 bad_request'],
    ['two fields', 'Host: api.one.test\r\nHost: a.one.test', '400 bad_request'],
    ['an empty host', 'Host: ', '400 bad_request'],
    ['no host', 'X-A: 1', '400 bad_request'],
    ['two dots at the end', 'Host: api.one.test..', '400 bad_request'],
    ['a dot in front', 'Host: .one.test', '400 bad_request'],
    ['only dots', `Host: ${'.'.repeat(8_000)}`, '400 bad_request'],
    ['a wildcard', 'Host: *.one.test', '400 bad_request'],
    ['a U-label', 'Host: b\u00fccher.test', '400 bad_request'],
    ['a fold', 'Host: api.one.test\r\n .evil.test', '400 bad_request'],
  ])('%s is refused, whatever it could mean', async (_name, line, expected) => {
    expect(await answerTo('GET /one/v1/x HTTP/1.1', line, 'Connection: close')).toBe(expected);
  });

  it('the host is that of the request line where that has one, and never a forwarded one', async () => {
    const forwarded = ['X-Forwarded-Host: api.one.test', 'Forwarded: host=api.one.test'];
    expect(await answerTo('GET /one/v1/x HTTP/1.1', 'Host: localhost', ...forwarded)).toBe('every');
    expect(await answerTo('GET http://A.one.test:80/one/v1/x HTTP/1.1', 'Host: api.one.test')).toBe('wild');
    expect(await answerTo('GET https://api.one.test./one/v1/x HTTP/1.1', 'Host: a.one.test')).toBe('exact');
    expect(await answerTo('GET http://u@api.one.test/one/v1/x HTTP/1.1', 'Host: x')).toBe('400 bad_request');
  });

  it('a request of HTTP/1.0 without a host reaches apps without hosts only', async () => {
    expect(await answerTo('GET /one/v1/x HTTP/1.0')).toBe('every');
    expect(await answerTo('GET /one/v1/x HTTP/1.0', 'Host: api.one.test')).toBe('exact');
    expect(await answerTo('GET /other/v1/x HTTP/1.0')).toBe('404 no_route');
  });

  it('connections do not stay with the host of their first request', async () => {
    const client = await connectRaw(gateway.proxyPort);
    const answers: string[] = [];
    for (const name of ['api', 'a', 'api', 'b.eu']) {
      client.write(`GET /one/v1/x HTTP/1.1\r\nHost: ${name}.one.test\r\n\r\n`);
      answers.push((await client.response()).body);
    }
    client.end();
    expect(answers).toEqual(['exact', 'wild', 'exact', 'deep']);
  });
});

describe('hosts of other apps', () => {
  const put = (slug: string, fields: Fields) =>
    gateway.api('POST', '/apps', { name: slug, slug, gateway_path: `/${slug}`, ...fields });

  it('are refused at the same path with the name of the app, also as the hosts of an app change', async () => {
    await service('first', { gateway_path: '/shared', hosts: ['a.own.test', '*.own.test'] });
    const taken = await put('second', { gateway_path: '/shared', hosts: ['b.test', 'A.Own.Test'] });
    expect(taken.status).toBe(409);
    expect(taken.body).toMatchObject({
      code: 'conflict',
      errors: [
        {
          pointer: '/gateway_path',
          detail: '"/shared" is already taken by the app "first" at the host "a.own.test"',
        },
      ],
    });
    // The exact name within the wildcard is another host.
    await service('second', { gateway_path: '/shared', hosts: ['b.own.test'] });
    expect(await answerOf('/shared/v1/x', 'b.own.test')).toBe('second');
    expect(await answerOf('/shared/v1/x', 'c.own.test')).toBe('first');
    const moved = await gateway.api('PATCH', '/apps/second', { hosts: ['*.own.test'] });
    expect([moved.status, moved.body.errors[0].detail]).toEqual([
      409,
      '"/shared" is already taken by the app "first" at the host "*.own.test"',
    ]);
    await gateway.must('PATCH', '/apps/second', { gateway_path: '/shared-2' });
    await gateway.must('PATCH', '/apps/second/versions/v1', { gateway_path: '/elsewhere' });
    await gateway.must('PATCH', '/apps/first/versions/v1', { gateway_path: '/elsewhere' });
    const version = await gateway.api('PATCH', '/apps/second', { hosts: ['a.own.test'] });
    expect([version.status, version.body.errors[0].pointer]).toEqual([409, '/hosts']);
    expect(version.body.errors[0].detail).toMatch(
      /"\/elsewhere" is already taken by the version "v1" .* of the app "first" at the host "a\.own\.test"/,
    );
    expect(await answerOf('/elsewhere/x', 'b.own.test')).toBe('second');
    expect(await answerOf('/elsewhere/x', 'a.own.test')).toBe('first');
  });

  it('an app without hosts conflicts with those without hosts only', async () => {
    await service('plain', { gateway_path: '/plain' });
    expect((await put('plain-2', { gateway_path: '/plain' })).status).toBe(409);
    await service('plain-3', { gateway_path: '/plain', hosts: ['plain.test'] });
    expect(await answerOf('/plain/v1/x', 'plain.test')).toBe('plain-3');
    expect(await answerOf('/plain/v1/x', 'x.test')).toBe('plain');
    const freed = await gateway.api('PATCH', '/apps/plain-3', { hosts: [] });
    expect([freed.status, freed.body.errors[0].detail]).toEqual([
      409,
      '"/plain" is already taken by the app "plain"',
    ]);
    // With another path it may, in the same call.
    await gateway.must('PATCH', '/apps/plain-3', { hosts: null, gateway_path: '/plain-3' });
    expect(await answerOf('/plain-3/v1/x', 'any.test')).toBe('plain-3');
    expect(await answerOf('/plain/v1/x', 'plain.test')).toBe('plain');
  });

  it('may be swapped in one transaction', async () => {
    await service('swap-a', { gateway_path: '/swap', hosts: ['a.swap.test'] });
    await service('swap-b', { gateway_path: '/swap', hosts: ['b.swap.test'] });
    const patch = (slug: string, hosts: string[]) => ({
      method: 'PATCH',
      path: `/api/v1/apps/${slug}`,
      body: { hosts },
    });
    const direct = await gateway.api('POST', '/transaction', {
      operations: [patch('swap-a', ['b.swap.test']), patch('swap-b', ['a.swap.test'])],
    });
    expect([direct.status, direct.body.errors[0].pointer]).toEqual([409, '/operations/0/body/gateway_path']);
    await gateway.must('POST', '/transaction', {
      operations: [
        patch('swap-a', ['aside.test']),
        patch('swap-b', ['a.swap.test']),
        patch('swap-a', ['b.swap.test']),
      ],
    });
    expect(await answerOf('/swap/v1/x', 'a.swap.test')).toBe('swap-b');
    expect(await answerOf('/swap/v1/x', 'b.swap.test')).toBe('swap-a');
    expect(await answerOf('/swap/v1/x', 'aside.test')).toBe('404 no_route');
    const [{ config_version: now }] = (await gateway.api('GET', '/config/versions?limit=1')).body.data;
    await gateway.must('POST', `/config/versions/${now - 1}/rollback`, {});
    expect(await answerOf('/swap/v1/x', 'a.swap.test')).toBe('swap-a');
    expect(await answerOf('/swap/v1/x', 'b.swap.test')).toBe('swap-b');
  });

  it('a name that is no host is refused at its place', async () => {
    const { status, body } = await put('odd', { hosts: ['ok.test', 'a.test:80', '10.0.0.1', 'OK.test'] });
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      { pointer: '/hosts/1', detail: expect.stringContaining('must not have a port') as string },
      { pointer: '/hosts/2', detail: 'must be a name, not an address' },
      { pointer: '/hosts/3', detail: 'repeats "ok.test"' },
    ]);
  });
});

describe('what shows hosts', () => {
  it('a write warns when another app has a name within a wildcard, and at the same path', async () => {
    await service('below', { gateway_path: '/warn', hosts: ['a.warn.test'] });
    const above = await gateway.must('POST', '/apps', {
      name: 'above',
      slug: 'above',
      gateway_path: '/warn',
      hosts: ['*.warn.test'],
    });
    expect(above.warnings ?? []).toEqual([]);
    const { body } = await gateway.api('POST', '/apps/above/versions', { version: 'v1' });
    expect(body.warnings).toEqual([
      expect.objectContaining({
        code: 'host_shadowed',
        pointer: '/gateway_path',
        detail: expect.stringContaining('"below" gets them, "above" does not') as string,
      }),
    ]);
    const other = await gateway.api('PATCH', '/apps/below', { description: 'x' });
    expect(other.body.warnings).toEqual([
      expect.objectContaining({ code: 'host_shadowed', pointer: '/hosts' }),
    ]);
  });

  it('explain says which host decided, for a described request and for one that came', async () => {
    const policy = { auth: { auth_type: 'api_key' } };
    await service('told', {
      gateway_path: '/told',
      hosts: ['a.told.test', '*.told.test'],
      default_policy: policy,
    });
    const explain = async (fields: Fields) =>
      gateway.must('POST', '/explain', { method: 'GET', url: '/told/v1/x', ...fields });
    expect((await explain({ host: 'A.told.test:8080' })).app).toMatchObject({
      slug: 'told',
      host: 'a.told.test',
    });
    expect((await explain({ url: 'http://b.told.test/told/v1/x' })).app.host).toBe('*.told.test');
    expect((await explain({ url: 'http://b.told.test/told/v1/x', host: 'a.told.test' })).app.host).toBe(
      'a.told.test',
    );
    const stage = (await explain({ host: 'b.told.test' })).stages.find(
      ({ stage: name }: Fields) => name === 'route',
    );
    expect(stage).toMatchObject({ verdict: 'passed', detail: 'The host is "*.told.test" of the app told' });
    const unknown = await explain({ host: 'no.test' });
    expect([unknown.code, unknown.app]).toEqual(['no_route', null]);
    expect(unknown.fix.detail).toMatch(
      /^Send the request to a host of app told \(.*\), .* or add no\.test to its hosts$/,
    );
    const { headers } = await request(gateway, '/told/v1/x', { headers: { Host: 'z.told.test' } });
    const came = await gateway.must('GET', `/explain/${headers['x-request-id']}`);
    expect([came.request.host, came.app.host]).toEqual(['z.told.test', '*.told.test']);
  });

  it('search and the list find an app by its host', async () => {
    await createApp(gateway, 'found', { hosts: ['very-special.found.test'] });
    const found = await gateway.api('GET', '/search?q=very-special');
    expect(found.body.data.items ?? found.body.data).toEqual([expect.objectContaining({ label: 'found' })]);
    const list = await gateway.api('GET', '/apps?q=VERY-special');
    expect(JSON.stringify(list.body)).toContain('"slug":"found"');
    expect((await gateway.api('GET', `/apps?q=${encodeURIComponent('","')}`)).body.data.items ?? []).toEqual(
      [],
    );
  });
});
