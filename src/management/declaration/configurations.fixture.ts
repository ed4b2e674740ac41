/**
 * Random declared configurations for property tests: apps, versions, revisions, endpoints, keys, policies and secrets.
 */
import fc from 'fast-check';

/** The only secret in them. */
export const SAMPLE_SECRET = 'a-secret-of-at-least-32-characters-here';
const label = fc.constantFrom('v1', 'v2', '1.0', '2026-01-01', 'next');
const policy = fc.option(
  fc.record(
    {
      auth: fc.constantFrom({ auth_type: 'api_key' }, { auth_type: 'jwt', jwt: { secret: SAMPLE_SECRET } }),
      required_scopes: fc.uniqueArray(fc.constantFrom('a', 'b:c'), { maxLength: 2 }),
      rate_limit: fc.record({
        enabled: fc.boolean(),
        requests: fc.nat(9).map((n) => n + 1),
        window_seconds: fc.constant(60),
      }),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
const endpoints = fc.dictionary(
  fc.constantFrom('GET /a', 'GET /a/{id}', '* /b/*', 'POST /a', 'DELETE /c'),
  fc.record({ is_active: fc.boolean(), policy_override: policy }, { requiredKeys: [] }),
);
const ports = fc.constantFrom(80, 443, 8080);
const target = fc.record(
  {
    host: fc.constantFrom('10.0.0.1', '10.0.0.2', 'unix:/run/a'),
    port: ports,
    weight: fc.constantFrom(1, 100),
  },
  { requiredKeys: ['host'] },
);
const targets = fc.uniqueArray(target, { minLength: 1, maxLength: 3, selector: ({ host }) => host });
const anyRevision = {
  backend_scheme: fc.constantFrom('http', 'https'),
  backend_protocol: fc.constantFrom('http1', 'h2'),
  is_current: fc.boolean(),
  traffic_weight: fc.constantFrom(0, 100, 7),
  default_policy: policy,
  endpoints,
};
const revision = fc.oneof(
  fc.record(
    {
      ...anyRevision,
      backend_host: fc.constantFrom('127.0.0.1', 'backend.internal'),
      backend_port: ports,
    },
    { requiredKeys: ['backend_host'] },
  ),
  fc.record({ ...anyRevision, targets }, { requiredKeys: ['targets'] }),
);
const version = fc.record(
  {
    status: fc.constantFrom('active', 'deprecated', 'retired'),
    sunset_at: fc.constant('2030-01-01T00:00:00.000Z'),
    revisions: fc.dictionary(fc.constantFrom('r1', 'canary', '2'), revision, { maxKeys: 2 }),
  },
  { requiredKeys: [] },
);
const app = (slug: string) =>
  fc.record(
    {
      gateway_path: fc.constant(`/${slug}`),
      hosts: fc.constantFrom([], ['a.test'], ['*.a.test', 'b.test']),
      name: fc.constantFrom(slug, 'A name', 'no', '1e3'),
      description: fc.option(fc.string({ maxLength: 10 }).map((text) => text.replaceAll(/[^ -~]/g, ''))),
      labels: fc.dictionary(fc.constantFrom('team', 'owner', 'tier'), fc.constantFrom('a', '0777', 'on')),
      default_policy: policy,
      versions: fc.dictionary(label, version, { maxKeys: 3 }),
      keys: fc.dictionary(
        fc.constantFrom('mobile', 'a b', '7'),
        fc.record({ scopes: fc.constantFrom([], ['a']) }),
      ),
    },
    { requiredKeys: ['gateway_path'] },
  );
/** Apps by slug. */
export const configurations = fc.record(
  { a: app('a'), b: app('b'), 'c-d': app('c-d') },
  { requiredKeys: [] },
);
