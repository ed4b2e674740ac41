/** Requests of a route that is left out, or of one beside a wider one, do not pass without what keeps them out. */
import { describe, expect, it } from 'vitest';
import { kongApp, served, servesAt, traefikApp, type App } from './imported-apps.fixture.ts';

const env = '${{ env "DECK_VALUE" }}';

describe('import kong', () => {
  /** A route with a key, and one without. */
  const pair = (secure: object, open: object, more: object = {}): App =>
    kongApp({
      services: [
        {
          name: 'a',
          url: 'http://10.0.0.1',
          routes: [
            { name: 'open', ...open },
            { name: 'secure', plugins: [{ name: 'key-auth' }], ...secure },
          ],
        },
      ],
      ...more,
    });

  it.each([
    ['/users', String.raw`~/users/\d+$`],
    ['~/users/(export|import)$', String.raw`~/users/\d+$`],
    ['~/users/(export|import)$', '~/users/[^/]+$'],
    ['/', '~/users/(?<id>[0-9]+)$'],
  ])('does not leave requests to %s to %s, which takes any one segment here', (secure, open) => {
    const servedOf = (plugins: object[]): string[] =>
      served(pair({ paths: [secure], plugins }, { paths: [open] })).filter((each) => each.includes('* /{'));
    expect(servedOf([{ name: 'key-auth' }])).toEqual([]);
    expect(servedOf([])).toHaveLength(1);
  });

  it.each([
    ['/api/v1', '/api/v1/admin/x', '/api/v1/x'],
    ['/api', '/api/v2/admin', '/api/v2'],
    ['/api/v3', '/api/v1/x', '/api/v3/admin'],
  ])(
    'keeps requests out under %s that a path keeps out that no pattern can express',
    (open, closed, served) => {
      const app = pair({ paths: ['~/api/(v1|v2)/admin'] }, { paths: [open] });
      expect([closed, served].map((path) => servesAt(app, path))).toEqual([false, true]);
    },
  );

  it('takes the path before a final segment for a path of its own', () => {
    const app = pair({ paths: ['~/[^/]+$'] }, { paths: [String.raw`~/\d+`], regex_priority: 1 });
    expect(['/users', '/7/x'].map((path) => servesAt(app, path))).toEqual([false, true]);
  });

  it.each([String.raw`~/admin/[\w\W]+$`, '~/admin/[!-~]+$', String.raw`~/admin/[\x2f\w]+$`])(
    'does not take %s, which matches slashes, for one segment',
    (path) => {
      const app = pair({ paths: [path] }, { paths: ['/'] });
      expect(['/admin/a/b', '/other'].map((each) => servesAt(app, each))).toEqual([false, true]);
    },
  );

  it.each([
    ['with methods of a template', { methods: ['GET', env] }, '/admin'],
    ['with a path of a template', { paths: ['/admin', env] }, '/other'],
  ])('does not leave requests of a route %s to a wider one', (_what, route, path) => {
    const app = (plugins: object[]): App => pair({ paths: ['/admin'], plugins, ...route }, { paths: ['/'] });
    expect(servesAt(app([{ name: 'key-auth' }]), path)).toBe(false);
    expect(servesAt(app([]), path)).toBe(true);
  });

  it.each([
    ['without a service', { plugins: [{ name: 'request-termination' }] }],
    ['with a service that is not there', { service: { name: 'gone' }, plugins: [{ name: 'key-auth' }] }],
  ])('does not leave requests of a route %s to a wider one', (_what, route) => {
    const routes = [{ name: 'block', paths: ['/internal'], ...route }];
    const app = pair({ paths: ['/keys'] }, { paths: ['/'] }, { routes });
    expect(['/internal/x', '/other'].map((each) => servesAt(app, each))).toEqual([false, true]);
  });

  it('does not leave requests to a service that could not be carried over to a wider route', () => {
    const app = (plugins: object[]): App =>
      kongApp({
        services: [
          { name: 'a', url: env, routes: [{ name: 'secure', paths: ['/admin'], plugins }] },
          { name: 'b', url: 'http://10.0.0.1', routes: [{ name: 'all', paths: ['/'] }] },
        ],
      });
    const isServed = [[{ name: 'key-auth' }], []].map((plugins) => servesAt(app(plugins), '/admin/x'));
    expect(isServed).toEqual([false, true]);
  });

  it('lets the route with a key come first where HTTP and HTTPS have different routes', () => {
    const app = pair({ paths: ['/a'], protocols: ['https'] }, { paths: ['/a'], protocols: ['http'] });
    expect(Object.keys(app.versions['a']?.revisions ?? {})).toEqual(['secure']);
  });
});

describe('import traefik', () => {
  it.each([
    ['an id', 'Path(`/one/{id:[0-9]+}`)', 'PathPrefix(`/one`)', false],
    ['words', 'Path(`/one/{lang:en|de}`)', 'PathPrefix(`/one`)', false],
    ['any one segment', 'Path(`/one/{id}`)', 'PathPrefix(`/one`)', true],
  ])(
    'does not leave requests of one router to one for %s that takes more',
    (_what, open, secure, isServed) => {
      const app = traefikApp(
        {},
        {
          middlewares: { inside: { ipAllowList: { sourceRange: ['10.0.0.0/8'] } } },
          routers: {
            open: { rule: open, service: 'one' },
            secure: { rule: secure, service: 'one', middlewares: ['inside'] },
          },
        },
      );
      expect(served(app).some((each) => each.includes('{'))).toBe(isServed);
    },
  );

  it('carries over a path that is also asked for as a prefix', () => {
    const app = traefikApp({ rule: 'PathPrefix(`/one/a`) && Path(`/one/a`)' });
    expect(['/one/a', '/one/a/b'].map((path) => servesAt(app, path))).toEqual([true, false]);
  });

  it('does not leave requests of a rule with a negation to a later router for any one segment', () => {
    const app = traefikApp(
      {},
      {
        middlewares: { inside: { ipAllowList: { sourceRange: ['10.0.0.0/8'] } } },
        routers: {
          open: { rule: 'Path(`/one/{id}`)', service: 'one' },
          secure: { rule: 'PathPrefix(`/one`) && !Path(`/one/a`)', service: 'one', middlewares: ['inside'] },
        },
      },
    );
    expect(servesAt(app, '/one/b')).toBe(false);
  });

  it.each([
    ['PathPrefix(`/one`) && !PathPrefix(`/one/health`)', false],
    ['!PathPrefix(`/one/health`, `/two`)', false],
    ['Path(`/one/{rest:.+}`)', false],
    ['PathRegexp(`docs|keys`)', false],
    // Requests without the header reach the later one in Traefik as well.
    ['PathPrefix(`/one`) && Headers(`X-Debug`, `1`)', true],
  ])('does not leave requests of the rule %s to a later router with a longer path', (rule, isServed) => {
    const app = traefikApp(
      {},
      {
        middlewares: { inside: { ipAllowList: { sourceRange: ['10.0.0.0/8'] } } },
        routers: {
          secure: { rule, service: 'one', middlewares: ['inside'], priority: 100 },
          docs: { rule: 'PathPrefix(`/one/docs/v1`)', service: 'one', priority: 1 },
          health: { rule: 'PathPrefix(`/one/health`)', service: 'one', priority: 2 },
        },
      },
    );
    expect(['/one/docs/v1/a', '/one/health/a'].map((path) => servesAt(app, path))).toEqual([
      isServed,
      isServed || rule.includes('!'),
    ]);
  });

  it.each([
    ['with a part that matches slashes', { rule: 'Path(`/one/{rest:[a-z/]+}`)' }],
    ['to a service without servers that can be read', { rule: 'PathPrefix(`/one`)', service: 'unread' }],
    ['to a service of another provider', { rule: 'PathPrefix(`/one`)', service: 'one@docker' }],
  ])('does not leave requests of a router %s to a wider one', (_what, router) => {
    const app = (middlewares: string[]): App =>
      traefikApp(
        {},
        {
          middlewares: { inside: { ipAllowList: { sourceRange: ['10.0.0.0/8'] } } },
          services: {
            one: { loadBalancer: { servers: [{ url: 'http://10.0.0.1' }] } },
            unread: { loadBalancer: { servers: [{ url: '{{ env "BACKEND" }}' }] } },
          },
          routers: {
            secure: { service: 'one', middlewares, ...router },
            all: { rule: 'PathPrefix(`/`)', service: 'one' },
          },
        },
      );
    expect([['inside'], []].map((own) => servesAt(app(own), '/one/a/b'))).toEqual([false, true]);
  });

  it('lets the router with a middleware come first where others have another entry point', () => {
    const app = traefikApp(
      {},
      {
        middlewares: { inside: { ipAllowList: { sourceRange: ['10.0.0.0/8'] } } },
        routers: {
          inner: { rule: 'Host(`a.example`) && PathPrefix(`/a`)', entryPoints: ['inner'], service: 'one' },
          outer: {
            rule: 'Host(`a.example`) && PathPrefix(`/a`)',
            entryPoints: ['web', 'websecure'],
            service: 'one',
            middlewares: ['inside'],
          },
        },
      },
    );
    expect(Object.keys(app.versions['a']?.revisions ?? {})).toEqual(['outer']);
  });
});
