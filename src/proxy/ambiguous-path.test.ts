import { describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../test/support/data/config-records.ts';
import { hasEncodedSlash } from '../http/paths/canonical-path.ts';
import type { EffectivePolicy } from '../model/policy.ts';
import type { App, Endpoint, Version } from '../model/resources.ts';
import { SnapshotHolder } from '../config/holder.ts';
import { createMatchResult, fullShare, matchRequest } from './match.ts';

/** Each policy is an object of its own, as in the running program. */
const holderOf = () => new SnapshotHolder<EffectivePolicy>((effective) => ({ ...effective }));
const STRICT = { policy_override: { required_scopes: ['admin'] } };
const OFF = { is_active: false };

interface Setup {
  readonly endpoints: readonly (Partial<Endpoint> & Pick<Endpoint, 'path'>)[];
  readonly app?: Partial<App>;
  /** More versions of the app. */
  readonly versions?: readonly Partial<Version>[];
}

/** The error code, or the template of the route. */
function match({ endpoints, app, versions = [] }: Setup, path: string, method = 'GET'): string {
  const holder = holderOf();
  const records = endpoints.map((fields, index) =>
    endpointRecord({ id: `e${index}`, method: '*', ...fields }),
  );
  const main = versionTree(versionRecord({ id: 'v1', app_id: 'app', gateway_path: '/app/v1' }), {
    revision: revisionRecord({ id: 'r1' }),
    endpoints: records,
  });
  const others = versions.map((fields, index) => {
    const id = `other${index}`;
    const revision = revisionRecord({ id: `r-${id}` });
    return versionTree(versionRecord({ id, app_id: 'app', ...fields }), { revision, endpoints: [] });
  });
  const tree = appTree(appRecord({ id: 'app', allow_encoded_slashes: true, ...app }), main, ...others);
  holder.apply(configChange(1, { apps: [tree] }));
  const out = createMatchResult<EffectivePolicy>();
  matchRequest(holder.current, path, hasEncodedSlash(path), method, fullShare, out);
  return out.code ?? out.route?.template ?? '';
}

const FALLBACK = '/app/v1/*';
const SPELLINGS = [
  '/Admin/x',
  '/admin/X',
  '/admin/x/',
  '/admin;a/x',
  '/admin/x;a=1',
  '/;/admin/x',
  '/admin%3B/x',
  '/admin/x.',
  '/admin./x',
  '/admin%20/x',
  '/admin/x%3Fy',
  '/admin/x%23',
  '/admin%2Fx',
  '/admin%252Fx',
  '/%2561dmin/x',
  '/y/%252E%252E/admin/x',
  '/admin%EF%BC%8Fx',
];

describe('a path that a lenient backend could read as the path of an app that names the host', () => {
  /** The app that serves the path at the host, or the error; each app is `hosts path`. */
  function serves(apps: readonly string[], host: string, path: string): string {
    const holder = holderOf();
    const trees = apps.map((id) => {
      const [hosts = '', gatewayPath = '/'] = id.split(' ');
      const version = versionRecord({ id, app_id: id, gateway_path: gatewayPath });
      const revision = { revision: revisionRecord({ id: `r-${id}` }), endpoints: [] };
      return appTree(
        appRecord({ id, slug: id, hosts: hosts === '-' ? [] : hosts.split(',') }),
        versionTree(version, revision),
      );
    });
    holder.apply(configChange(1, { apps: trees }));
    const out = createMatchResult<EffectivePolicy>();
    matchRequest(holder.current, path, false, 'GET', fullShare, out, undefined, false, undefined, host);
    return out.code ?? out.version?.app.slug ?? '';
  }

  it.each<[string, string[], string, string, string]>([
    ['a longer path of the same host', ['a.test /x', 'a.test /'], 'a.test', '/X/1', 'bad_path'],
    ['the app of the host in place of one without', ['a.test /x', '- /'], 'a.test', '/X/1', 'bad_path'],
    ['a shorter path of the host', ['a.test /x', '- /X/y'], 'a.test', '/X/y/1', 'bad_path'],
    ['a name in place of a wildcard', ['a.test /x', '*.test /'], 'A.test:80', '/X/1', 'bad_path'],
    ['a longer wildcard', ['*.a.test /x', '*.test /'], 'z.a.test', '/X/1', 'bad_path'],
    ['at another host', ['a.test /x', '- /'], 'b.test', '/X/1', '- /'],
    ['as it is written', ['a.test /x', '- /'], 'a.test', '/x/1', 'a.test /x'],
    ['an app without hosts in place of one with', ['a.test /X', '- /x'], 'a.test', '/X/1', 'a.test /X'],
    ['a wildcard in place of a name', ['a.test /X', '*.test /x'], 'a.test', '/X/1', 'a.test /X'],
  ])('%s', (_name, apps, host, path, expected) => {
    expect(serves(apps, host, path)).toBe(expected);
  });
});

describe('a path that a lenient backend could read as an endpoint with another policy', () => {
  it.each(SPELLINGS)('%s is refused if the fallback would serve it', (spelling) => {
    const path = `/app/v1${spelling}`;
    expect(match({ endpoints: [{ path: '/admin/x', ...STRICT }] }, path)).toBe('bad_path');
    expect(match({ endpoints: [{ path: '/admin/x', ...OFF }] }, path)).toBe('bad_path');
    expect(match({ endpoints: [{ path: '/admin/*', ...STRICT }] }, path)).toMatch(
      /^(bad_path|\/app\/v1\/admin\/\*)$/,
    );
    // The policy is the same, so nothing can be bypassed.
    expect(match({ endpoints: [{ path: '/admin/x' }] }, path)).toBe(FALLBACK);
    expect(match({ endpoints: [] }, path)).toBe(FALLBACK);
  });

  it.each([
    ['a parameter', [{ path: '/users/{id}' }, { path: '/users/me', ...STRICT }], '/users/ME'],
    ['a wildcard', [{ path: '/users/*' }, { path: '/users/me', ...STRICT }], '/users/me;x'],
    [
      'a looser wildcard',
      [{ path: '/*', ...STRICT }, { path: '/open/*' }, { path: '/open/x', ...OFF }],
      '/open/X',
    ],
    ['another spelling in the configuration', [{ path: '/Users/Me/', ...STRICT }], '/users/me'],
    ['one of two that are alike', [{ path: '/me/' }, { path: '/Me', ...STRICT }], '/ME'],
  ])('is refused if it would match %s', (_what, endpoints, path) => {
    expect(match({ endpoints }, `/app/v1${path}`)).toBe('bad_path');
    expect(match({ endpoints, app: { routing_mode: 'managed_endpoint' } }, `/app/v1${path}`)).toMatch(
      /^(bad_path|endpoint_not_found)$/,
    );
  });

  it.each([
    ['registered as it is', [{ path: '/me', ...STRICT }, { path: '/Me' }], '/Me', '/app/v1/Me'],
    ['another one altogether', [{ path: '/me', ...STRICT }], '/Mine/', FALLBACK],
    ['of an endpoint below a wildcard', [{ path: '/*', ...OFF }, { path: '/a/*' }], '/a/', '/app/v1/a/*'],
    ['of the same endpoint', [{ path: '/a/{id}', ...STRICT }], '/a/ID', '/app/v1/a/{id}'],
  ])('is not refused if it is %s', (_what, endpoints, path, template) => {
    expect(match({ endpoints }, `/app/v1${path}`)).toBe(template);
  });

  it('is refused for a method in another case', () => {
    const endpoints = [{ path: '/a/{id}', method: 'DELETE' as const, ...STRICT }];
    expect(match({ endpoints }, '/app/v1/a/1', 'DELETE')).toBe('/app/v1/a/{id}');
    expect(match({ endpoints }, '/app/v1/a/1', 'Delete')).toBe('bad_path');
    expect(match({ endpoints }, '/app/v1/a/1', 'PATCH')).toBe(FALLBACK);
  });
});

describe('the lenient readings of a revision', () => {
  it('are computed again when single endpoints change', () => {
    const revision = revisionRecord({ id: 'r1' });
    const version = versionRecord({ id: 'v1', app_id: 'app', gateway_path: '/app/v1' });
    const endpoint = (id: string, path: string, fields: Partial<Endpoint> = {}) =>
      endpointRecord({ id, method: '*', path, ...fields });
    const holder = holderOf();
    const first = versionTree(version, { revision, endpoints: [endpoint('e1', '/a/{id}')] });
    holder.apply(configChange(1, { apps: [appTree(appRecord({ id: 'app' }), first)] }));
    let configVersion = 1;
    const after = (endpointId: string, changed: Endpoint | undefined): string => {
      const change = { versionId: 'v1', revision, endpointId, endpoint: changed };
      holder.apply(configChange(++configVersion, { endpoints: [change] }));
      const out = createMatchResult<EffectivePolicy>();
      matchRequest(holder.current, '/app/v1/a/B', false, 'GET', fullShare, out);
      return out.code ?? out.route?.template ?? '';
    };
    const served = '/app/v1/a/{id}';
    expect(after('e2', endpoint('e2', '/c'))).toBe(served);
    expect(after('e3', endpoint('e3', '/a/b', STRICT))).toBe('bad_path');
    expect(after('e3', endpoint('e3', '/a/b'))).toBe(served);
    expect(after('e3', endpoint('e3', '/a/b', OFF))).toBe('bad_path');
    expect(after('e3', undefined)).toBe(served);
  });
});

describe('a path that a lenient backend could read as one of a longer gateway path', () => {
  const versions = [{ gateway_path: '/app/v1/old', status: 'retired' as const }];

  it.each(['/app/v1/OLD/x', '/app/v1/old;a/x', '/app/v1/old%2Fx', '/app/v1/old%20'])(
    '%s is refused',
    (path) => {
      expect(match({ endpoints: [], versions }, path)).toBe('bad_path');
    },
  );

  it('is not refused without such a version', () => {
    expect(match({ endpoints: [], versions }, '/app/v1/older/X')).toBe(FALLBACK);
    expect(match({ endpoints: [], versions }, '/app/v1/old/x')).toBe('version_retired');
  });
});
