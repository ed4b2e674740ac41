import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startManagement, type Json } from '../../../management/management.fixture.ts';
import { headgate } from '../../cli.fixture.ts';
import { checkOffline } from '../../config/check-offline.ts';
import { readRule } from './rule.ts';
import { importTraefik } from './traefik-tree.ts';

const SHOP = {
  http: {
    routers: {
      shop: {
        rule: 'Host(`shop.example.com`) && PathPrefix(`/shop`)',
        entryPoints: ['websecure'],
        middlewares: ['all@file'],
        service: 'shop',
        tls: { certResolver: 'le' },
      },
      health: { rule: 'Path(`/health`) || (Method(`GET`) && PathPrefix(`/status`))', service: 'both' },
      api: { rule: 'PathPrefix(`/v1`)', middlewares: ['add', 'few'], service: 'mirror', priority: 9 },
      web: { rule: 'PathPrefix(`/`)', middlewares: ['https'], service: 'shop' },
      odd: { rule: '!Path(`/x`)', service: 'shop' },
      secret: { rule: 'PathPrefix(`/secret`)', middlewares: ['auth'], service: 'shop' },
    },
    services: {
      shop: {
        loadBalancer: {
          servers: [{ url: 'http://10.0.0.1:8080', weight: 2 }, { url: 'http://10.0.0.2:8080' }],
          healthCheck: { path: '/health', interval: '10s' },
        },
      },
      other: {
        loadBalancer: {
          servers: [{ url: 'https://10.0.0.3' }],
          passHostHeader: false,
          serversTransport: 'own',
        },
      },
      both: {
        weighted: {
          services: [
            { name: 'shop', weight: 3 },
            { name: 'other', weight: 1 },
          ],
        },
      },
      mirror: { mirroring: { service: 'other', mirrors: [{ name: 'shop', percent: 10 }] } },
    },
    serversTransports: { own: { insecureSkipVerify: true, serverName: 'other.test' } },
    middlewares: {
      all: { chain: { middlewares: ['strip', 'limit', 'headers'] } },
      strip: { stripPrefix: { prefixes: ['/shop'] } },
      add: { addPrefix: { prefix: '/internal' } },
      limit: { rateLimit: { average: 100, period: '1m', burst: 50 } },
      few: { ipAllowList: { sourceRange: ['10.1.2.3/8'] } },
      headers: {
        headers: {
          stsSeconds: 3600,
          customRequestHeaders: { 'X-A': 'b', 'X-B': '' },
          accessControlAllowOriginList: ['https://a.test'],
        },
      },
      https: { redirectScheme: { scheme: 'https' } },
      auth: { basicAuth: { users: ['ann:$apr1$secret'] } },
    },
  },
  tls: { certificates: [{ certFile: 'a', keyFile: 'b' }] },
};

interface Imported {
  readonly app: Json;
  readonly findings: readonly { readonly pointer: string; readonly place: string; readonly reason: string }[];
}
const imported = (...values: readonly unknown[]): Imported => {
  const files = values.map((value, index) => ({ name: `f${index}.yaml`, value }));
  const result = importTraefik(files, { slug: 'traefik', gatewayPath: undefined });
  if ('problem' in result) throw new Error(result.problem);
  return result;
};

describe('headgate import traefik', () => {
  it('plans, applies, and finds nothing to change then', async () => {
    await using api = await startManagement();
    const run = (...flags: string[]) =>
      headgate(api, ['import', 'traefik', '-', ...flags], {}, JSON.stringify(SHOP));
    const plan = await run();
    expect([plan.code, plan.err]).toEqual([2, '']);
    for (const text of [
      '6 routers.',
      'http.routers.shop.rule: asks for Host(`shop.example.com`), but is served under every name here',
      'http.routers.web: answers with a redirect',
      'is the middleware redirectScheme: redirects to HTTPS are a setting; nearest: GATEWAY_PROXY__HTTPS_REDIRECT_PORT',
      'http.routers.odd.rule: has an alternative with !Path(`/x`)',
      'http.services.mirror.mirroring.mirrors: requests are sent to one backend',
      'http.routers.secret: is not switched on',
    ])
      expect(plan.out).toContain(text);
    expect(plan.out).not.toContain('$apr1$');
    expect((await run('--apply')).code).toBe(0);
    expect((await run()).out).toContain('Nothing to change.');
  });

  it('writes texts that look like references so that the file has them as they are', async () => {
    await using api = await startManagement();
    const document = {
      http: {
        routers: { a: { rule: 'PathPrefix(`/a`)', middlewares: ['shown'], service: 'a' } },
        services: { a: { loadBalancer: { servers: [{ url: 'http://127.0.0.1:9001' }] } } },
        middlewares: { shown: { headers: { customResponseHeaders: { 'X-Shell': '${env:SECRET}' } } } },
      },
    };
    const out = join(mkdtempSync(join(tmpdir(), 'headgate-import-')), 'a.yaml');
    const args = ['import', 'traefik', '-', '--out', out];
    expect((await headgate(api, args, {}, JSON.stringify(document))).code).toBe(0);
    expect((await headgate(api, ['config', 'apply', out], {})).err).toBe('');
    const { config } = (await api.get('/config')).body.data;
    // `$${` of a value of `headers` is the text `${`.
    expect(JSON.stringify(config)).toContain('"X-Shell":"$${env:SECRET}"');
  });

  it('makes revisions of servers, with their policy and paths', () => {
    const { app } = imported(SHOP);
    expect(app.versions.shop.revisions['shop-10.0.0.1-8080']).toEqual({
      backend_scheme: 'http',
      backend_host: '10.0.0.1',
      backend_port: 8080,
      health_check_path: '/health',
      circuit_breaker: { probe: { interval_ms: 10_000, timeout_ms: 5_000 } },
      traffic_weight: 2,
      preserve_host: true,
      default_policy: {
        rate_limit: {
          enabled: true,
          requests: 100,
          window_seconds: 60,
          algorithm: 'token_bucket',
          burst: 50,
          per: 'ip',
        },
        headers: {
          request: { set: { 'X-A': 'b' }, remove: ['X-B'] },
          response: { set: { 'Strict-Transport-Security': 'max-age=3600' } },
        },
        cors: { allowed_origins: ['https://a.test'] },
      },
      is_current: true,
      endpoints: { '* /*': {} },
    });
    expect(app.versions.v1.revisions.api).toMatchObject({
      backend_base_path: '/internal',
      backend_tls: { verify: false, server_name: 'other.test' },
      default_policy: { ip_access: { allow: ['10.0.0.0/8'] } },
      strip_gateway_path: false,
    });
    expect(Object.keys(app.versions.status.revisions['health-other-10.0.0.3-443'].endpoints)).toEqual([
      'GET /*',
    ]);
    expect(app.versions.secret.revisions['secret-10.0.0.1-8080'].is_current).toBeUndefined();
  });

  it('merges several files, and says what is in two', () => {
    const more = { http: { routers: { shop: { rule: 'PathPrefix(`/z`)', service: 'shop' } } } };
    const { app, findings } = imported(SHOP, more);
    expect(app.versions.z).toBeUndefined();
    expect(findings.map(({ place, reason }) => `${place} ${reason}`)).toContain(
      'f1.yaml: http.routers.shop is in another file as well, and the first was taken',
    );
  });

  it.each([
    ['Path(`/a`) && Method("GET")', [['Path', 'Method']]],
    ['!(Path(`/a`) || Method(`GET`))', [['!Path', '!Method']]],
    [
      '(Path(`/a`) || Path(`/b`)) && Host(`x`)',
      [
        ['Path', 'Host'],
        ['Path', 'Host'],
      ],
    ],
    ['Path(`/a`', undefined],
    ['Path(`/a`) Path(`/b`)', undefined],
    ['(((', undefined],
    ['', undefined],
    [Array(8).fill('(Path(`/a`) || Path(`/b`))').join(' && '), undefined],
  ])('reads the rule %s', (rule, expected) => {
    const found = readRule(rule)?.map((all) =>
      all.map(({ name, isNegated }) => `${isNegated ? '!' : ''}${name}`),
    );
    expect(found).toEqual(expected);
  });

  it('reads texts in double quotes with their escapes, as Go does, and in backquotes without any', () => {
    const rule = 'PathRegexp("^/a\\\\.b\\"$") || PathRegexp(`^/a\\\\.b$`)';
    expect(
      readRule(rule)
        ?.flat()
        .map(({ args }) => args),
    ).toEqual([[String.raw`^/a\.b"$`], [String.raw`^/a\\.b$`]]);
  });

  it('says what becomes of the conditions under which a request is sent again', () => {
    const http = {
      routers: { a: { rule: 'Path(`/a`)', service: 's', middlewares: ['b'] } },
      services: { s: { loadBalancer: { servers: [{ url: 'http://10.0.0.1' }] } } },
      middlewares: { b: { buffering: { retryExpression: 'IsNetworkError() && Attempts() < 2' } } },
    };
    const imported = importTraefik([{ name: 'a.yaml', value: { http } }], {
      slug: 'a',
      gatewayPath: undefined,
    });
    expect('findings' in imported && imported.findings).toContainEqual({
      kind: 'lost',
      pointer: '/http/middlewares/b/buffering/retryExpression',
      place: 'http.middlewares.b.buffering.retryExpression',
      reason: 'retries follow from the method and the failure here',
      nearest: '`retries`',
    });
  });

  it('says where the certificates of a transport and a second host belong', () => {
    const balancer = { servers: [{ url: 'https://a.internal' }], serversTransport: 't' };
    const http = {
      routers: {
        a: { rule: 'Host(`a.test`) && PathPrefix(`/a`)', service: 's' },
        b: { rule: 'Host(`b.test`) && PathPrefix(`/b`)', service: 's' },
      },
      services: { s: { loadBalancer: balancer } },
      serversTransports: {
        t: { rootCAs: ['/etc/ca.pem'], certificates: [{ certFile: '/a.crt', keyFile: '/a.key' }] },
      },
    };
    const { findings } = imported({ http });
    for (const [place, nearest] of [
      ['serversTransports.t.rootCAs', '`backend_tls.ca`'],
      ['serversTransports.t.certificates', '`backend_tls.client_certificate`'],
      ['routers.b.rule', expect.stringContaining('with another --app')],
    ])
      expect(findings).toContainEqual(expect.objectContaining({ place: `http.${place}`, nearest }));
  });

  it('refuses TOML and what is no configuration', async () => {
    await using api = await startManagement();
    const { code, err } = await headgate(api, ['import', 'traefik', 'dynamic.toml']);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('TOML is not read; write the same configuration as YAML'),
    ]);
    const other = await headgate(api, ['import', 'traefik', '-'], {}, 'a: 1');
    expect(other.err).toContain(
      'it has no http.routers; expected the dynamic configuration of the file provider. Write routers of Docker labels',
    );
    const fixed = await headgate(api, ['import', 'traefik', '-'], {}, 'providers: {docker: {}}');
    expect(fixed.err).toContain(
      'it has no http.routers; its providers is static configuration. Give the files of the file provider',
    );
  });
});

function places(value: unknown, pointer = ''): { leaves: string[]; objects: string[] } {
  if (typeof value !== 'object' || value === null) return { leaves: [pointer], objects: [] };
  const members = Object.entries(value).map(([name, member]) => places(member, `${pointer}/${name}`));
  return {
    leaves: members.flatMap(({ leaves }) => leaves),
    objects: [...(Array.isArray(value) ? [] : [pointer]), ...members.flatMap(({ objects }) => objects)],
  };
}

function changedAt(pointer: string, value: unknown): Json {
  const document = structuredClone(SHOP) as Json;
  const tokens = pointer.split('/').slice(1);
  const name = tokens.pop() ?? '';
  const parent = tokens.reduce<Json>((found, token) => found[token], document);
  parent[name] = value;
  return document;
}

const covered = (findings: Imported['findings'], pointer: string): boolean =>
  findings.some((finding) => pointer === finding.pointer || pointer.startsWith(`${finding.pointer}/`));

describe('nothing is lost in silence', () => {
  const { leaves, objects } = places(SHOP);

  it('reports an unknown member, wherever it is and whatever it says', () => {
    fc.assert(
      fc.property(
        // Any member of these is a header field.
        fc.constantFrom(...objects.filter((object) => !object.endsWith('Headers'))),
        fc.string({ minLength: 1 }).map((name) => `x${name.replaceAll(/[~/]/g, '-')}`),
        fc.jsonValue().filter((value) => value !== null && JSON.stringify(value).length > 2),
        (object, name, value) => {
          const { findings } = imported(changedAt(`${object}/${name}`, value));
          expect(covered(findings, `${object}/${name}`)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('shows another value of any member in the result, or says why it does not', async () => {
    const before = JSON.stringify(imported(SHOP).app);
    const silent: string[] = [];
    const invalid: string[] = [];
    // Most other values are left out alike.
    const checked = new Set<string>();
    for (const leaf of leaves) {
      for (const value of ['other-value-1', 977, ['/odd'], { odd: 1 }]) {
        const after = imported(changedAt(leaf, value));
        // An order that concerns no other router.
        if (leaf.endsWith('/priority')) continue;
        const text = JSON.stringify(after.app);
        const isSame = text === before;
        if (isSame && !covered(after.findings, leaf)) silent.push(`${leaf} = ${JSON.stringify(value)}`);
        if (isSame || checked.has(text)) continue;
        checked.add(text);
        const { errors } = await checkOffline({ apps: { traefik: after.app } });
        if (errors.length > 0) invalid.push(`${leaf} = ${JSON.stringify(value)}: ${JSON.stringify(errors)}`);
      }
    }
    expect({ silent, invalid }).toEqual({ silent: [], invalid: [] });
  }, 300_000);
});
