/**
 * One canonical path is matched, authorised and forwarded. Every way of writing a protected path differently is tried
 * against a disabled endpoint, an endpoint that needs a key and a retired version, in both routing modes. Whatever gets
 * through must be what the policy was applied to: the backend's path is compared literally, and also as backends read
 * it that decode, collapse and resolve more than they should.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import type { RawResponse } from '../../support/clients/raw-client.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  problem,
  request,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await Promise.all([
    protectedService('open', 'pass_through'),
    protectedService('closed', 'managed_endpoint'),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** v1 has a public endpoint, one that needs a key and a disabled one; v0 is retired. */
async function protectedService(slug: string, routing_mode: string): Promise<void> {
  await createService(gateway, slug, origin.port, { app: { routing_mode } });
  await createEndpoint(gateway, slug, '*', '/public/page');
  await createEndpoint(gateway, slug, '*', '/secret/data', {
    policy_override: { auth: { auth_type: 'api_key', required: true } },
  });
  await createEndpoint(gateway, slug, '*', '/off/data', { is_active: false });
  await createVersion(gateway, slug, 'v0', { status: 'retired' });
  await createRevision(gateway, slug, origin.port, {}, 'v0');
  if (routing_mode === 'managed_endpoint') {
    await createEndpoint(gateway, slug, '*', '/any/data', {}, { version: 'v0' });
  }
}

interface Protection {
  readonly name: string;
  /** First and second segment after the app. */
  readonly version: string;
  readonly area: string;
  readonly status: number;
}

const PROTECTIONS: readonly Protection[] = [
  { name: 'endpoint that needs a key', version: 'v1', area: 'secret', status: 401 },
  { name: 'disabled endpoint', version: 'v1', area: 'off', status: 404 },
  { name: 'retired version', version: 'v0', area: 'any', status: 410 },
];

/**
 * What the gateway must make of a spelling:
 * - `same`: it is the protected path, so the protection answers;
 * - `refused`: 400, whatever is configured;
 * - `slash`: 400, but only once the app is known, which may allow it; a retired version answers before;
 * - `unrouted`: outside of the version, 404;
 * - `alike`: another path, which a lenient backend takes for the protected one: pass-through refuses it with 400,
 *   and managed mode does not know it;
 * - a text: another path, which pass-through forwards as this text and managed mode does not know. A retired
 *   version answers 410 for all of its paths.
 */
type Verdict = 'same' | 'refused' | 'slash' | 'unrouted' | 'alike' | { readonly other: string };

type Spelling = readonly [
  what: string,
  target: (app: string, version: string, area: string) => string,
  Verdict,
];

const hex = (text: string): string =>
  text.replaceAll(/[^]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
const upper = (text: string): string => text.toUpperCase();

const SPELLINGS: readonly Spelling[] = [
  // Encodings of unreserved characters are the characters themselves.
  ['one encoded letter', (a, v, s) => `/${a}/${v}/${hex(s[0] ?? '')}${s.slice(1)}/data`, 'same'],
  ['all letters encoded', (a, v, s) => `/${a}/${v}/${hex(s)}/${hex('data')}`, 'same'],
  ['upper-case hex digits', (a, v, s) => `/${a}/${v}/${s}/d%61ta`, 'same'],
  ['encoded app', (a, v, s) => `/${hex(a)}/${v}/${s}/data`, 'same'],
  ['encoded version', (a, v, s) => `/${a}/${hex(v)}/${s}/data`, 'same'],
  ['with a query', (a, v, s) => `/${a}/${v}/${s}/data?x=/public/page`, 'same'],
  ['with an empty query', (a, v, s) => `/${a}/${v}/${s}/data?`, 'same'],
  ['absolute form', (a, v, s) => `http://gateway.test/${a}/${v}/${s}/data`, 'same'],
  ['absolute form with another host', (a, v, s) => `http://${a}.test/${a}/${v}/${s}/data`, 'same'],
  ['absolute form, encoded', (a, v, s) => `http://gateway.test/${a}/${v}/${hex(s)}/data`, 'same'],

  // What servers read in different ways is refused.
  ['double slash inside', (a, v, s) => `/${a}/${v}//${s}/data`, 'refused'],
  ['double slash before the last segment', (a, v, s) => `/${a}/${v}/${s}//data`, 'refused'],
  ['double slash at the front', (a, v, s) => `//${a}/${v}/${s}/data`, 'refused'],
  ['double slash at the end', (a, v, s) => `/${a}/${v}/${s}/data//`, 'refused'],
  ['a host at the front', (a, v, s) => `//gateway.test/${a}/${v}/${s}/data`, 'refused'],
  ['a backslash host', (a, v, s) => `/\\gateway.test/${a}/${v}/${s}/data`, 'refused'],
  ['triple slash', (a, v, s) => `///${a}/${v}/${s}/data`, 'refused'],
  ['double slash in absolute form', (a, v, s) => `http://gateway.test//${a}/${v}/${s}/data`, 'refused'],
  ['single dot', (a, v, s) => `/${a}/${v}/./${s}/data`, 'refused'],
  ['single dot at the end', (a, v, s) => `/${a}/${v}/${s}/data/.`, 'refused'],
  ['double dot', (a, v, s) => `/${a}/${v}/public/../${s}/data`, 'refused'],
  ['double dot over the version', (a, v, s) => `/${a}/other/../${v}/${s}/data`, 'refused'],
  ['double dot at the end', (a, v, s) => `/${a}/${v}/${s}/data/x/..`, 'refused'],
  ['double dot from another app', (a, v, s) => `/else/../${a}/${v}/${s}/data`, 'refused'],
  ['encoded dots', (a, v, s) => `/${a}/${v}/public/%2e%2e/${s}/data`, 'refused'],
  ['half encoded dots', (a, v, s) => `/${a}/${v}/public/.%2e/${s}/data`, 'refused'],
  ['half encoded dots, other half', (a, v, s) => `/${a}/${v}/public/%2E./${s}/data`, 'refused'],
  ['encoded single dot', (a, v, s) => `/${a}/${v}/%2e/${s}/data`, 'refused'],
  ['dots with a path parameter', (a, v, s) => `/${a}/${v}/public/..;/${s}/data`, 'refused'],
  ['dots with a named path parameter', (a, v, s) => `/${a}/${v}/public/..;x=1/${s}/data`, 'refused'],
  ['dots with an encoded path parameter', (a, v, s) => `/${a}/${v}/public/..%3b/${s}/data`, 'refused'],
  ['one dot with a path parameter', (a, v, s) => `/${a}/${v}/.;/${s}/data`, 'refused'],
  ['encoded dots with a path parameter', (a, v, s) => `/${a}/${v}/public/%2e%2e;/${s}/data`, 'refused'],
  ['dots behind an encoded slash', (a, v, s) => `/${a}/${v}/public%2f..%2f${s}/data`, 'refused'],
  ['dots before an encoded slash', (a, v, s) => `/${a}/${v}/public/..%2f${s}/data`, 'refused'],
  ['a backslash', (a, v, s) => `/${a}/${v}/${s}\\data`, 'refused'],
  ['an encoded backslash', (a, v, s) => `/${a}/${v}/${s}%5cdata`, 'refused'],
  ['dots with backslashes', (a, v, s) => `/${a}/${v}/public\\..\\${s}\\data`, 'refused'],
  ['NUL', (a, v, s) => `/${a}/${v}/${s}/data%00`, 'refused'],
  ['NUL and an extension', (a, v, s) => `/${a}/${v}/${s}/data%00.html`, 'refused'],
  ['an encoded line feed', (a, v, s) => `/${a}/${v}/${s}/data%0a`, 'refused'],
  ['an encoded CR LF', (a, v, s) => `/${a}/${v}/${s}/data%0d%0aX-Injected:%201`, 'refused'],
  ['an encoded tab', (a, v, s) => `/${a}/${v}/${s}/data%09`, 'refused'],
  ['an encoded DEL', (a, v, s) => `/${a}/${v}/${s}/data%7f`, 'refused'],
  ['a raw tab', (a, v, s) => `/${a}/${v}/${s}/data\t`, 'refused'],
  ['a raw byte above ASCII', (a, v, s) => `/${a}/${v}/${s}/data\xa0`, 'refused'],
  ['a percent sign alone', (a, v, s) => `/${a}/${v}/${s}/data%`, 'refused'],
  ['half an encoding', (a, v, s) => `/${a}/${v}/${s}/data%2`, 'refused'],
  ['no hex digits', (a, v, s) => `/${a}/${v}/${s}/%zzdata`, 'refused'],
  ['IIS-like unicode encoding', (a, v, s) => `/${a}/${v}/%u0073${s.slice(1)}/data`, 'refused'],
  ['an overlong slash', (a, v, s) => `/${a}/${v}/${s}%c0%afdata`, 'refused'],
  ['overlong dots', (a, v, s) => `/${a}/${v}/public/%c0%ae%c0%ae/${s}/data`, 'refused'],
  ['a fragment', (a, v, s) => `/${a}/${v}/${s}/data#x`, 'refused'],
  ['a relative target', (a, v, s) => `${a}/${v}/${s}/data`, 'refused'],
  ['user information in absolute form', (a, v, s) => `http://x@gateway.test/${a}/${v}/${s}/data`, 'refused'],
  ['an encoded slash', (a, v, s) => `/${a}/${v}/${s}%2fdata`, 'slash'],
  ['an encoded slash at the end', (a, v, s) => `/${a}/${v}/${s}/data%2F`, 'slash'],

  // Another app or version: nothing there.
  ['upper-case app', (a, v, s) => `/${upper(a)}/${v}/${s}/data`, 'unrouted'],
  ['upper-case version', (a, v, s) => `/${a}/${upper(v)}/${s}/data`, 'unrouted'],
  ['an encoded slash before the version', (a, v, s) => `/${a}%2f${v}/${s}/data`, 'unrouted'],
  ['an encoded slash behind the version', (a, v, s) => `/${a}/${v}%2f${s}/data`, 'unrouted'],
  ['a path parameter behind the app', (a, v, s) => `/${a};x/${v}/${s}/data`, 'unrouted'],
  ['a path parameter behind the version', (a, v, s) => `/${a}/${v};x/${s}/data`, 'unrouted'],
  ['a space behind the version', (a, v, s) => `/${a}/${v}%20/${s}/data`, 'unrouted'],
  [
    'a percent-encoded encoding in the version',
    (a, v, s) => `/${a}/%25${hex(v).slice(1)}/${s}/data`,
    'unrouted',
  ],

  // Literally other paths in the same version, which some backends take for the protected one all the same.
  ['a trailing slash', (a, v, s) => `/${a}/${v}/${s}/data/`, 'alike'],
  ['upper case', (a, v, s) => `/${a}/${v}/${upper(s)}/DATA`, 'alike'],
  ['encoded upper case', (a, v, s) => `/${a}/${v}/${s}/%44ata`, 'alike'],
  ['a path parameter', (a, v, s) => `/${a}/${v}/${s}/data;x=1`, 'alike'],
  ['an encoded path parameter', (a, v, s) => `/${a}/${v}/${s}/data%3bx`, 'alike'],
  ['an encoded question mark', (a, v, s) => `/${a}/${v}/${s}/data%3fx`, 'alike'],
  ['an encoded number sign', (a, v, s) => `/${a}/${v}/${s}/data%23x`, 'alike'],
  ['an encoded space', (a, v, s) => `/${a}/${v}/${s}/data%20`, 'alike'],
  ['a dot at the end of a segment', (a, v, s) => `/${a}/${v}/${s}/data.`, 'alike'],
  ['an extension', (a, v, s) => `/${a}/${v}/${s}/data.json`, { other: '/AREA/data.json' }],
  ['three dots', (a, v, s) => `/${a}/${v}/.../${s}/data`, 'alike'],
  ['double encoding', (a, v, s) => `/${a}/${v}/%25${hex(s[0] ?? '').slice(1)}${s.slice(1)}/data`, 'alike'],
  ['double encoded slash', (a, v, s) => `/${a}/${v}/${s}%252fdata`, 'alike'],
  ['double encoded dots', (a, v, s) => `/${a}/${v}/public/%252e%252e/${s}/data`, 'alike'],
  ['a full-width slash', (a, v, s) => `/${a}/${v}/${s}%ef%bc%8fdata`, 'alike'],
  ['full-width dots', (a, v, s) => `/${a}/${v}/x/%ef%bc%8e%ef%bc%8e/${s}/data`, 'alike'],
  ['an asterisk', (a, v, s) => `/${a}/${v}/${s}/*`, { other: '/AREA/*' }],
  ['the template of an endpoint', (a, v, s) => `/${a}/${v}/${s}/{x}`, { other: '/AREA/%7Bx%7D' }],
];

/** How a careless backend reads a path: everything decoded once, parameters cut, slashes collapsed, dots resolved. */
function carelessly(url: string): string {
  const path = url.split(/[?#]/)[0] ?? '';
  let decoded = path.replaceAll(/%([0-9a-f]{2})/gi, (_all, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  );
  decoded = decoded.replaceAll('\\', '/').split('\0')[0] ?? '';
  const out: string[] = [];
  for (const segment of decoded.split('/')) {
    if (segment === '..') out.pop();
    else if (segment !== '' && segment !== '.') out.push(segment);
  }
  return `/${out.join('/')}`;
}

for (const [app, mode] of [
  ['open', 'pass_through'],
  ['closed', 'managed_endpoint'],
] as const) {
  describe.each(PROTECTIONS)(`${mode}: $name`, ({ version, area, status }) => {
    async function send(target: string): Promise<{ response: RawResponse; urls: string[] }> {
      const before = origin.seen.length;
      const response = await request(gateway, target);
      return { response, urls: origin.seen.slice(before).map(({ url }) => url) };
    }

    it('is protected as it is written', async () => {
      const { response, urls } = await send(`/${app}/${version}/${area}/data`);
      expect([response.status, urls]).toEqual([status, []]);
      expect((await send(`/${app}/v1/public/page`)).urls).toEqual(['/public/page']);
    });

    it.each(SPELLINGS)('%s', async (_what, spell, verdict) => {
      const { response, urls } = await send(spell(app, version, area));
      const retired = status === 410;
      if (verdict === 'same') {
        expect([response.status, urls]).toEqual([status, []]);
      } else if (verdict === 'refused') {
        expect([response.status, urls]).toEqual([400, []]);
      } else if (verdict === 'slash') {
        expect([response.status, urls]).toEqual([retired ? 410 : 400, []]);
      } else if (verdict === 'unrouted') {
        expect([response.status, urls]).toEqual([404, []]);
        expect(problem(response).code).toBe('no_route');
      } else if (retired) {
        expect([response.status, urls]).toEqual([410, []]);
      } else if (verdict === 'alike' && mode === 'pass_through') {
        expect([response.status, urls]).toEqual([400, []]);
        expect(problem(response).code).toBe('bad_path');
      } else if (mode === 'managed_endpoint') {
        expect([response.status, urls]).toEqual([404, []]);
        expect(problem(response).code).toBe('endpoint_not_found');
      } else {
        const other = typeof verdict === 'object' ? verdict.other : '';
        expect([response.status, urls]).toEqual([200, [other.replace('AREA', area)]]);
      }
      // No protected path was reached, also by the reading of a careless backend.
      for (const url of urls) {
        expect(carelessly(url)).not.toBe(`/${area}/data`);
      }
    });
  });
}

describe('what is forwarded', () => {
  it('the path that is forwarded is the canonical one, not the one that was written', async () => {
    const cases: readonly (readonly [string, string])[] = [
      ['/open/v1/%7euser/%41%2dz', '/~user/A-z'],
      ['/open/v1/a%c3%a4%2c', '/a%C3%A4%2C'],
      ['/open/v1/a|b^c`d"e<f>', '/a%7Cb%5Ec%60d%22e%3Cf%3E'],
      ["/open/v1/!$&'()*+,;=:@", "/!$&'()*+,;=:@"],
      ['/open/v1/%21%24%26', '/%21%24%26'],
    ];
    for (const [target, url] of cases) {
      const before = origin.seen.length;
      await request(gateway, target);
      expect([target, origin.seen[before]?.url]).toEqual([target, url]);
    }
  });

  it('characters that a path may hold as they are do not hide it when they are encoded', async () => {
    const auth = { policy_override: { auth: { auth_type: 'api_key' } } };
    const paths = ['/users:batch', '/a@b', "/it's", '/a,b', '/a;b', '/a=b', '/a+b', '/$a', '/(a)', '/a!b&c'];
    for (const path of paths) await createEndpoint(gateway, 'open', 'GET', path, auth);
    const before = origin.seen.length;
    for (const path of paths) {
      const encoded = path.replaceAll(/[^/A-Za-z]/g, (character) => hex(character));
      expect([path, (await request(gateway, `/open/v1${path}`)).status]).toEqual([path, 401]);
      expect([encoded, (await request(gateway, `/open/v1${encoded}`)).status]).toEqual([encoded, 401]);
    }
    expect(origin.seen.slice(before).every(({ url }) => !paths.includes(decodeURIComponent(url)))).toBe(true);
    await createVersion(gateway, 'open', 'colon', { gateway_path: '/open/v1/svc:x', status: 'retired' });
    for (const target of ['/open/v1/svc:x', '/open/v1/svc%3Ax/y', '/open/v1/svc%3ax']) {
      expect([target, (await request(gateway, target)).status]).toEqual([target, 410]);
    }
  });

  it('nothing leaves backend_base_path', async () => {
    await createService(gateway, 'jail', origin.port, { revision: { backend_base_path: '/jail/a' } });
    const tails = [
      '/..',
      '/../',
      '/../b',
      '/%2e%2e/b',
      '/..;/b',
      '/x/../../b',
      '/..%2fb',
      '/%2e%2e%2fb',
      '//b',
      '/.',
      '/\\..\\b',
    ];
    for (const tail of tails) {
      const before = origin.seen.length;
      const response = await request(gateway, `/jail/v1${tail}`);
      expect([tail, response.status, origin.seen.length - before]).toEqual([tail, 400, 0]);
    }
    await request(gateway, '/jail/v1/ok');
    expect(origin.seen.at(-1)?.url).toBe('/jail/a/ok');
  });

  it('fields that some frameworks take the path from change nothing and are not forwarded', async () => {
    const before = origin.seen.length;
    const names = ['X-Original-URL', 'X-Rewrite-URL', 'X_Original_URL'];
    for (const name of names) {
      const secret = await request(gateway, '/closed/v1/secret/data', {
        headers: { [name]: '/public/page' },
      });
      expect(secret.status).toBe(401);
      await request(gateway, '/closed/v1/public/page', { headers: { [name]: '/secret/data' } });
    }
    const seen = origin.seen.slice(before);
    expect(seen.map(({ url }) => url)).toEqual(names.map(() => '/public/page'));
    for (const { headers } of seen) {
      expect(Object.keys(headers).filter((name) => /original|rewrite/i.test(name))).toEqual([]);
    }
  });

  it('a longer gateway_path protects what is below it, however it is written', async () => {
    await createVersion(gateway, 'open', 'admin', { gateway_path: '/open/v1/admin', status: 'retired' });
    for (const target of ['/open/v1/admin', '/open/v1/admin/', '/open/v1/%61dmin/x', '/open/v1/adm%69n']) {
      expect([target, (await request(gateway, target)).status]).toEqual([target, 410]);
    }
    for (const target of [
      '/open/v1//admin',
      '/open/v1/./admin',
      '/open/v1/x/../admin',
      '/open/v1/x/%2e%2e/admin',
    ]) {
      expect([target, (await request(gateway, target)).status]).toEqual([target, 400]);
    }
    expect((await request(gateway, '/open/v1/administrator')).status).toBe(200);
  });
});
