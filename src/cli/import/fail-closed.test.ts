/** What cannot be carried over never leaves a route, a router or a key more open than it was. */
import { describe, expect, it } from 'vitest';
import { importKong } from './kong/kong-tree.ts';
import { kongApp, served, servesAt, traefikApp, type App } from './imported-apps.fixture.ts';

describe('import kong', () => {
  const service = (route: object, more: object = {}): object => ({
    services: [{ name: 'a', url: 'http://10.0.0.1', routes: [{ name: 'r', ...route }], ...more }],
  });
  const env = '${{ env "DECK_VALUE" }}';
  const FIELDS = Array.from({ length: 33 }, (_, index) => `X-Internal-${index}`);

  it('serves a route', () => {
    expect(served(kongApp(service({ paths: ['/a'], methods: ['GET'] })))).not.toEqual([]);
    expect(served(kongApp(service({ paths: ['/a'], methods: [] })))).not.toEqual([]);
  });

  it.each([
    ['paths of a template', { paths: [env] }],
    ['paths that are no texts', { paths: [true] }],
    ['paths that are no list', { paths: true }],
    ['methods of a template', { paths: ['/a'], methods: [env] }],
    ['methods that are no texts', { paths: ['/a'], methods: [{ name: 'GET' }] }],
    ['methods that are no list', { paths: ['/a'], methods: true }],
  ])('does not serve more than a route with %s', (_what, route) => {
    expect(served(kongApp(service(route)))).toEqual([]);
  });

  it.each([
    ['that is not known', { name: 'company-auth' }],
    ['of code', { name: 'pre-function', config: { access: ['return kong.response.exit(403)'] } }],
    ['that keeps robots out', { name: 'bot-detection' }],
    ['with a limit of a template', { name: 'rate-limiting', config: { minute: env, hour: 90 } }],
    ['with a denied group of a template', { name: 'acl', config: { deny: ['bad', env] } }],
    [
      'that removes more fields than fit',
      { name: 'request-transformer', config: { remove: { headers: FIELDS } } },
    ],
    [
      'that removes fields of a template',
      { name: 'request-transformer', config: { remove: { headers: [env] } } },
    ],
    ['that sets a path', { name: 'request-transformer', config: { replace: { uri: '/public' } } }],
    ['that sets a method', { name: 'request-transformer-advanced', config: { http_method: 'GET' } }],
    [
      'that sets a parameter',
      { name: 'request-transformer', config: { replace: { querystring: ['role:guest'] } } },
    ],
    ['with a denied address that is no text', { name: 'ip-restriction', config: { deny: ['10.0.0.1', {}] } }],
  ])('does not switch a route on with a plugin %s', (_what, plugin) => {
    const plugins = [{ name: 'key-auth' }, plugin];
    expect(served(kongApp({ ...service({ paths: ['/a'] }, { plugins }), consumers: [] }))).toEqual([]);
  });

  it('does not switch a route on with two limits, of which a policy has one', () => {
    const strict = { name: 'rate-limiting', config: { minute: 10, limit_by: 'ip' } };
    const loose = {
      name: 'rate-limiting-advanced',
      config: { limit: [9_000], window_size: [60], identifier: 'ip' },
    };
    const same = {
      name: 'rate-limiting-advanced',
      config: { limit: [10], window_size: [60], identifier: 'ip', window_type: 'fixed' },
    };
    const servedWith = (own: object[], global: object[] = []): string[] =>
      served(kongApp({ ...service({ paths: ['/a'] }, { plugins: own }), plugins: global }));
    expect(servedWith([strict, loose])).toEqual([]);
    expect(servedWith([loose], [strict])).toEqual([]);
    expect(servedWith([strict])).not.toEqual([]);
    expect(servedWith([strict, same])).not.toEqual([]);
  });

  it.each([
    ['a consumer at a route', { name: 'request-termination', route: 'r', consumer: 'bob' }],
    ['a consumer at a service, by id', { name: 'rate-limiting', service: 'a', consumer: { id: 'b-1' } }],
    ['a group', { name: 'request-termination', consumer_group: 'guests' }],
    ['a group at a route', { name: 'company-quota', consumer_group: 'guests', route: 'r' }],
  ])('does not switch a key on with a plugin of %s', (_what, plugin) => {
    const consumers = [
      { username: 'bob', id: 'b-1', keyauth_credentials: [{ key: 'x' }], groups: [{ name: 'guests' }] },
      { username: 'ann', keyauth_credentials: [{ key: 'y' }] },
    ];
    const plugins = [{ name: 'key-auth' }];
    const app = (more: object): App =>
      kongApp({ ...service({ paths: ['/a'] }, { plugins }), consumers, ...more });
    const { keys } = app({ plugins: [plugin] });
    expect([keys['bob']?.is_active, keys['ann']?.is_active]).toEqual([false, undefined]);
    expect(app({ plugins: [{ ...plugin, enabled: false }] }).keys['bob']?.is_active).toBe(undefined);
    const groups = [{ name: 'guests', plugins: [{ name: 'rate-limiting-advanced' }] }];
    expect(app({ consumer_groups: groups }).keys['bob']?.is_active).toBe(false);
  });

  it('does not let tokens and certificates of a consumer in to whom a plugin does not apply here', () => {
    const limits = [{ name: 'rate-limiting', config: { minute: 5 } }];
    const app = (auth: string, plugins: object[]): App =>
      kongApp({
        ...service({ paths: ['/a'] }, { plugins: [{ name: auth, config: { ca_certificates: ['c1'] } }] }),
        consumers: [
          { username: 'bob', jwt_secrets: [{ key: 'issuer', secret: 's'.repeat(32) }], plugins },
          { username: 'ann' },
        ],
      });
    expect(served(app('jwt', []))).not.toEqual([]);
    expect(served(app('jwt', limits))).toEqual([]);
    expect(JSON.stringify(app('mtls-auth', []))).toContain('CN=bob');
    const refused = JSON.stringify(app('mtls-auth', limits));
    expect([refused.includes('CN=ann'), refused.includes('CN=bob')]).toEqual([true, false]);
  });

  it('does not let in longer tokens, or certificates of another authority', () => {
    const app = (plugin: object, credential: object): App =>
      kongApp({
        ...service({ paths: ['/a'] }, { plugins: [plugin] }),
        consumers: [
          {
            username: 'bob',
            jwt_secrets: [{ key: 'issuer', secret: 's'.repeat(32) }],
            mtls_auth_credentials: [{ subject_name: 'bob.test', ...credential }],
          },
        ],
      });
    const jwt = (seconds: number): object => ({ name: 'jwt', config: { maximum_expiration: seconds } });
    expect(served(app(jwt(0), {}))).not.toEqual([]);
    expect(served(app(jwt(3_600), {}))).toEqual([]);
    const mtls = (...trusted: string[]): object => ({
      name: 'mtls-auth',
      config: { ca_certificates: trusted },
    });
    const ofOne = { ca_certificate: { id: 'c1' } };
    expect(served(app(mtls('c1', 'c2'), {}))).not.toEqual([]);
    expect(served(app(mtls('c1'), { ca_certificate: 'c1' }))).not.toEqual([]);
    expect(served(app(mtls('c1', 'c2'), { ca_certificate: 'c1' }))).toEqual([]);
    expect(served(app(mtls('c1', 'c2'), ofOne))).toEqual([]);
  });

  it.each([
    ['a regular expression', { paths: ['~/api/(admin|ops)'] }],
    ['addresses', { paths: ['/api'], sources: [{ ip: '192.0.2.0/24' }] }],
    ['an expression', { expression: 'http.path ^= "/api"' }],
  ])('does not leave requests that are chosen by %s to a wider route without its plugins', (_what, route) => {
    const secure = [{ name: 'key-auth' }];
    const app = (own: object[], others: object[]): App =>
      kongApp({
        services: [
          {
            name: 'a',
            url: 'http://10.0.0.1',
            routes: [
              { name: 'secure', ...route, plugins: own },
              { name: 'all', paths: ['/'], plugins: others },
              { name: 'health', paths: ['/api/health'] },
            ],
          },
        ],
      });
    const isOfPath = 'paths' in route;
    const closed = app(secure, []);
    const served = ['/api/admin', '/api/health', '/other'].map((path) => servesAt(closed, path));
    expect(served).toEqual([false, true, isOfPath]);
    for (const same of [app(secure, secure), app([], [])]) expect(servesAt(same, '/api/admin')).toBe(true);
  });

  it.each([
    [['key-auth'], true],
    [['basic-auth'], false],
  ])(
    'does not serve a path without the %s of another name, since hosts are no condition',
    (plugins, isServed) => {
      const app = (url: string): App =>
        kongApp({
          services: [
            { name: 'a', url, routes: [{ name: 'inside', hosts: ['a.internal'], paths: ['/'] }] },
            {
              name: 'b',
              url: 'http://10.0.0.1',
              routes: [
                {
                  name: 'outside',
                  hosts: ['a.example'],
                  paths: ['/'],
                  plugins: plugins.map((name) => ({ name })),
                },
              ],
            },
          ],
        });
      const current = (one: App): string[] =>
        Object.entries(one.versions['root']?.revisions ?? {}).flatMap(([label, { is_current: isCurrent }]) =>
          isCurrent === true ? [label] : [],
        );
      expect(current(app('http://10.0.0.1'))).toEqual(isServed ? ['outside'] : []);
      expect(current(app('http://10.0.0.2'))).toEqual(['inside']);
    },
  );

  it('says which paths only begin like one that is protected', () => {
    const findings = (others: object[]): string[] => {
      const routes = [
        { name: 'docs', paths: ['/docs'], plugins: [{ name: 'request-termination' }] },
        { name: 'all', paths: ['/'], plugins: others },
      ];
      const document = { _format_version: '3.0', services: [{ name: 'a', url: 'http://10.0.0.1', routes }] };
      const options = { slug: 'kong', gatewayPath: undefined, withKeyValues: false };
      const imported = importKong(document, options);
      if ('problem' in imported) throw new Error(imported.problem);
      return imported.findings.flatMap(({ place, reason }) =>
        reason.startsWith('matches whole segments') ? [`${place}: ${reason}`] : [],
      );
    };
    expect(findings([])).toEqual([expect.stringMatching(/routes\[docs\]\.paths\[0\]: .* reaches all, /)]);
    expect(findings([{ name: 'basic-auth' }])).toEqual([]);
  });

  it('does not apply the limit of one consumer at a route to all others', () => {
    const strict = { name: 'rate-limiting', config: { minute: 5 } };
    const ofBob = { name: 'rate-limiting', consumer: 'bob', config: { minute: 9_000 } };
    const app = kongApp({
      ...service({ paths: ['/a'], plugins: [ofBob] }, { plugins: [{ name: 'key-auth' }, strict] }),
      consumers: [{ username: 'bob', keyauth_credentials: [{ key: 'x' }] }],
    });
    expect(JSON.stringify(app)).not.toContain('9000');
    expect(JSON.stringify(app)).toContain('"requests":5');
    expect(app.keys['bob']?.is_active).toBe(false);
  });

  it('does not switch a route on with a plugin that is its own only for one service', () => {
    const plugins = [{ name: 'request-termination', route: 'r', service: 'a' }];
    expect(served(kongApp({ ...service({ paths: ['/a'] }), plugins }))).toEqual([]);
  });

  it('switches on a route with plugins that only observe', () => {
    const edits = {
      name: 'request-transformer',
      config: { remove: { headers: ['X-User'] }, add: { body: ['a:b'] } },
    };
    const plugins = [{ name: 'prometheus' }, { name: 'file-log' }, { name: 'cors' }, edits];
    expect(served(kongApp(service({ paths: ['/a'] }, { plugins })))).not.toEqual([]);
  });

  it.each(['key-auth', 'jwt', 'mtls-auth'])(
    'keeps requests without a caller out where %s refuses its anonymous consumer',
    (name) => {
      const plugins = [{ name, config: { anonymous: 'guest', ca_certificates: ['c1'] } }];
      const jwt = { key: 'issuer', secret: 's'.repeat(32) };
      const app = (guest: object): App =>
        kongApp({
          ...service({ paths: ['/a'] }, { plugins }),
          consumers: [
            { username: 'guest', ...guest },
            { username: 'known', jwt_secrets: [jwt] },
          ],
        });
      expect(served(app({ plugins: [{ name: 'request-termination' }] }))).toEqual([]);
      expect(served(app({}))).not.toEqual([]);
    },
  );

  it.each([
    ['that refuses it', { name: 'request-termination' }],
    ['of addresses', { name: 'ip-restriction', config: { allow: ['10.0.0.1'] } }],
    ['that is not known', { name: 'company-quota' }],
    ['with a limit of a template', { name: 'rate-limiting', config: { minute: env } }],
  ])('does not switch a key on whose consumer has a plugin %s', (_what, plugin) => {
    const key = (plugins: object[]): unknown =>
      kongApp({
        ...service({ paths: ['/a'] }, { plugins: [{ name: 'key-auth' }] }),
        consumers: [{ username: 'bob', keyauth_credentials: [{ key: 'x' }], plugins }],
      }).keys['bob']?.is_active;
    expect(key([plugin])).toBe(false);
    expect(key([{ name: 'rate-limiting', config: { minute: 5 } }, { name: 'prometheus' }])).toBe(undefined);
  });
});

describe('import traefik', () => {
  it('serves a router', () => {
    const middlewares = { plain: { headers: { frameDeny: true } } };
    expect(served(traefikApp({ middlewares: ['plain'] }, { middlewares }))).not.toEqual([]);
    expect(served(traefikApp({ tls: { certResolver: 'le' } }))).not.toEqual([]);
  });

  it.each([
    ['a template', ['{{ env "AUTH" }}']],
    ['an object', [{ name: 'auth', namespace: 'apps' }]],
    ['no list', { name: 'auth' }],
    ['one of another provider', ['auth@docker']],
  ])('does not switch a router on whose middleware is %s', (_what, middlewares) => {
    expect(served(traefikApp({ middlewares }))).toEqual([]);
    const chain = { chain: { middlewares } };
    expect(served(traefikApp({ middlewares: ['chain'] }, { middlewares: { chain } }))).toEqual([]);
  });

  it.each([
    ['of two kinds', { headers: { frameDeny: true }, basicAuth: { users: ['a:b'] } }],
    ['of two kinds without effect', { compress: {}, forwardAuth: { address: 'http://10.0.0.2' } }],
    ['with an unread limit', { rateLimit: { average: '{{ env "LIMIT" }}' } }],
    ['that names hosts', { headers: { allowedHosts: ['a.example'] } }],
    [
      'with an unread field for backends',
      { headers: { customRequestHeaders: { 'X-Role': '{{ env "ROLE" }}' } } },
    ],
    ['with an unread size', { buffering: { maxRequestBodyBytes: true } }],
    [
      'that reads addresses of a proxy',
      { ipAllowList: { sourceRange: ['10.0.0.0/8'], ipStrategy: { depth: 1 } } },
    ],
  ])('does not switch a router on with a middleware %s', (_what, one) => {
    expect(served(traefikApp({ middlewares: ['one'] }, { middlewares: { one } }))).toEqual([]);
  });

  it('does not switch a router on whose clients may need a certificate', () => {
    expect(served(traefikApp({ tls: { options: 'mtls@file' } }))).toEqual([]);
    const byDefault = {
      options: { default: { clientAuth: { clientAuthType: 'RequireAndVerifyClientCert' } } },
    };
    expect(served(traefikApp({ tls: {} }, {}, byDefault))).toEqual([]);
    expect(served(traefikApp({}, {}, byDefault))).not.toEqual([]);
  });

  it.each(['!PathPrefix(`/one/health`)', 'ClientIP(`192.0.2.0/24`)', 'PathRegexp(`^/one/(a|b)`)'])(
    'does not leave requests of a rule with %s to a wider router without its middlewares',
    (matcher) => {
      const app = (all: string[]): App =>
        traefikApp(
          {},
          {
            middlewares: { inside: { ipAllowList: { sourceRange: ['10.0.0.0/8'] } } },
            routers: {
              one: { rule: `PathPrefix(\`/one\`) && ${matcher}`, service: 'one', middlewares: ['inside'] },
              all: { rule: 'PathPrefix(`/`)', service: 'one', middlewares: all },
              health: { rule: 'PathPrefix(`/one/health`)', service: 'one' },
            },
          },
        );
      const served = ['/one/a', '/one/health', '/other'].map((path) => servesAt(app([]), path));
      expect(served).toEqual([false, true, true]);
      expect(servesAt(app(['inside']), '/one/a')).toBe(true);
    },
  );

  it('ends with chains of chains, and with chains in themselves', () => {
    const wide = { chain: { middlewares: Array.from({ length: 20 }, () => 'self') } };
    const middlewares: Record<string, object> = { self: wide };
    for (let level = 0; level < 40; level++)
      middlewares[`level-${level}`] = {
        chain: {
          middlewares: Array.from({ length: 20 }, () => (level === 39 ? 'self' : `level-${level + 1}`)),
        },
      };
    expect(served(traefikApp({ middlewares: ['self'] }, { middlewares }))).toEqual([]);
    expect(served(traefikApp({ middlewares: ['level-0'] }, { middlewares }))).toEqual([]);
  });
});
