import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startManagement, type Fixture, type Json } from '../../../management/management.fixture.ts';
import { headgate, type Outcome } from '../../cli.fixture.ts';
import { checkOffline } from '../../config/check-offline.ts';
import { importKong } from './kong-tree.ts';

const KEY = 'q7Zt4KxW2m9PdR5sVb8NcL3f';
const SHOP = {
  _format_version: '3.0',
  services: [
    {
      name: 'orders',
      url: 'http://orders.internal:8080/api',
      tags: ['team-a'],
      routes: [
        { name: 'read', paths: ['/orders'], methods: ['GET'] },
        {
          name: 'write',
          paths: ['/orders'],
          methods: ['POST'],
          plugins: [{ name: 'acl', config: { allow: ['w'] } }],
        },
      ],
      plugins: [
        {
          name: 'key-auth',
          config: { key_names: ['X-API-Key'], key_in_query: false, hide_credentials: true },
        },
        { name: 'rate-limiting', config: { minute: 5, hour: 90, limit_by: 'ip', policy: 'local' } },
      ],
    },
    { name: 'pool', host: 'pool', routes: [{ name: 'pool', paths: ['/pool'], strip_path: false }] },
    {
      name: 'admin',
      url: 'https://admin.internal',
      routes: [{ name: 'admin', paths: ['/admin'], plugins: [{ name: 'basic-auth' }] }],
    },
  ],
  upstreams: [
    {
      name: 'pool',
      targets: [
        { target: '10.0.0.1:81', weight: 3 },
        { target: '10.0.0.2:82', weight: 1 },
      ],
    },
  ],
  consumers: [
    { username: 'mobile', keyauth_credentials: [{ key: KEY }], acls: [{ group: 'w' }] },
    { username: 'partner', keyauth_credentials: [{ key: 'short-secret-word' }] },
  ],
  plugins: [{ name: 'cors', config: { origins: ['https://shop.example.com'] } }, { name: 'prometheus' }],
};

describe('headgate import kong', () => {
  let api: Fixture;
  let folder: string;
  beforeEach(async () => {
    api = await startManagement();
    folder = mkdtempSync(join(tmpdir(), 'headgate-import-'));
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await api[Symbol.asyncDispose]();
  });
  const run = (document: unknown, ...flags: string[]): Promise<Outcome> =>
    headgate(api, ['import', 'kong', '-', ...flags], {}, JSON.stringify(document));
  const kong = async (): Promise<Json> => (await api.get('/config?app=kong')).body.data.config.apps.kong;

  it('plans, and says what is lost and what is different', async () => {
    const { code, out, err } = await run(SHOP);
    expect([code, err]).toEqual([2, '']);
    expect(out).toContain('3 services, 4 routes, 1 upstream, 2 consumers.');
    expect(out).toContain('  + key       kong  mobile\n');
    for (const text of [
      'services[orders].plugins[rate-limiting].config.minute: is one of several windows',
      'plugins[prometheus]: is the plugin prometheus, which has no counterpart; nearest: the metrics',
      'services[admin].routes[admin]: is not switched on, because basic-auth could not be carried over in full',
      'consumers[mobile].keyauth_credentials[0].key: is not carried over: the key gets a new value; nearest: --with-key-values (and 1 more like it)',
      'services[admin]: has a certificate that is verified here',
      'Without effect here: ',
    ])
      expect(out).toContain(text);
    expect((await api.get('/apps')).body.data).toEqual([]);
  });

  it('makes callers by certificates of mtls-auth, and names the file that is wanted', async () => {
    const config = { ca_certificates: ['c1'], revocation_check_mode: 'STRICT' };
    const named = { username: 'billing', mtls_auth_credentials: [{ subject_name: 'billing.example.com' }] };
    const document = (more: object, consumers: readonly object[]): object => ({
      _format_version: '3.0',
      ca_certificates: [{ id: 'c1', cert: 'PEM' }],
      services: [
        {
          name: 'pay',
          url: 'http://pay.internal',
          routes: [{ name: 'pay', paths: ['/pay'] }],
          plugins: [{ name: 'mtls-auth', config: { ...config, ...more } }],
        },
      ],
      consumers,
    });
    const revision = async (
      more: object,
      consumers: readonly object[],
    ): Promise<{ readonly out: string; readonly auth: Json; readonly isOn: boolean }> => {
      const { code, out } = await run(document(more, consumers), '--apply');
      expect(code, out).toBe(0);
      const { pay } = (await kong()).versions.pay.revisions;
      return { out, auth: pay.default_policy?.auth, isOn: pay.is_current === true };
    };
    const found = await revision({}, [named, { username: 'a*' }]);
    const ca = found.auth.mtls.ca as string;
    expect(found).toMatchObject({
      auth: {
        auth_type: 'mtls',
        mtls: {
          callers: [
            { from: 'san_dns', value: 'billing.example.com', name: 'billing' },
            { from: 'subject', value: 'CN=billing.example.com', name: 'billing' },
            { from: 'subject', value: 'CN=billing', name: 'billing' },
          ],
          revocation_lists: 'required',
        },
      },
      isOn: true,
    });
    expect(found.out).toContain(`the file ${ca}.crt in the folder of GATEWAY_PROXY__CLIENT_CAS`);
    expect(found.out).toContain('has the name "a*", for which there is no rule');
    expect((await revision({ skip_consumer_lookup: true, anonymous: 'x' }, [])).auth).toEqual({
      auth_type: 'mtls',
      required: false,
      mtls: { ca, revocation_lists: 'required' },
    });
    // No consumer: a policy without callers would accept every certificate.
    expect(await revision({}, [])).toMatchObject({ auth: undefined, isOn: false });
  });

  it('makes one app of all services, and changes nothing when it is imported again', async () => {
    const { code, out } = await run(SHOP, '--apply', '--with-key-values');
    expect(code, out).toBe(0);
    const app = await kong();
    expect(app.default_policy).toEqual({ cors: { allowed_origins: ['https://shop.example.com'] } });
    expect(app.versions.orders.revisions.write).toMatchObject({
      backend_host: 'orders.internal',
      backend_port: 8080,
      backend_base_path: '/api',
      is_current: true,
      default_policy: {
        auth: { auth_type: 'api_key', in: 'X-API-Key' },
        required_scopes: ['w'],
        rate_limit: { enabled: true, requests: 90, window_seconds: 3600, per: 'ip' },
      },
      endpoints: { 'POST /*': {} },
    });
    expect(app.versions.pool.revisions['pool-10.0.0.1-81']).toMatchObject({
      traffic_weight: 3,
      strip_gateway_path: false,
    });
    expect(app.versions.admin.revisions.admin.is_current).toBeUndefined();
    expect(app.keys.mobile.scopes).toEqual(['w']);
    const again = await run(SHOP, '--with-key-values');
    expect(again.out).toContain('Nothing to change.');
    expect(again.code).toBe(0);
  });

  it('asks backends of gRPC in HTTP/2, and tells of certificates that they want', async () => {
    const service = (name: string, fields: object): object => ({
      name,
      host: `${name}.internal`,
      port: 9000,
      routes: [{ name, paths: [`/${name}`], protocols: ['grpc', 'grpcs'], strip_path: false }],
      ...fields,
    });
    const services = [
      service('plain', { protocol: 'grpc' }),
      service('secure', { protocol: 'grpcs', client_certificate: { id: 'c1' } }),
      service('raw', { protocol: 'tcp' }),
    ];
    const { out } = await run({ _format_version: '3.0', services }, '--apply');
    expect(out).toContain('services[raw]: speaks tcp, and this gateway speaks HTTP only');
    expect(out).toContain(
      'services[secure].client_certificate: is shown to the backend, and was not carried over',
    );
    expect(out.match(/client_certificate: /g)).toHaveLength(1);
    const { versions } = await kong();
    const revisions = Object.values<Json>(versions).flatMap((version) =>
      Object.values<Json>(version.revisions),
    );
    expect(revisions).toHaveLength(2);
    for (const revision of revisions) expect(revision.backend_protocol).toBe('h2');
  });

  it('brings the values of keys along and never shows them', async () => {
    const { out } = await run(SHOP, '--apply', '--with-key-values');
    expect(out).not.toContain(KEY);
    expect(out).not.toContain('short-secret-word');
    expect(out).toMatch(/Key partner of kong \(shown only now\): hgk_/);
    expect(out).not.toContain('Key mobile');
    const { body } = await api.post('/tokens/introspect', { token: KEY });
    expect(body.data).toMatchObject({ active: true });
    const json = await run(SHOP, '--with-key-values', '--output', 'json');
    expect(json.out + json.err).not.toContain('short-secret-word');
  });

  it('writes values of keys for the owner alone, in place of a file for all as well', async () => {
    const out = join(folder, 'shop.yaml');
    writeFileSync(out, 'old', { mode: 0o644 });
    chmodSync(out, 0o644);
    expect((await run(SHOP, '--with-key-values', '--out', out)).code).toBe(0);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(readFileSync(out, 'utf8')).toContain('mobile');
    const { code, err } = await run(SHOP, '--out', join(folder, 'no', 'folder.yaml'));
    expect([code, err]).toEqual([1, `Cannot write ${join(folder, 'no', 'folder.yaml')}: it does not exist`]);
  });

  it('carries a header value over as text, even one that would be a template here', async () => {
    const headers = { add: { headers: ['X-Shell: ${client.ip}'] } };
    const plugins = ['request-transformer', 'response-transformer'].map((name) => ({
      name,
      config: headers,
    }));
    const route = { name: 'a', paths: ['/a'] };
    const services = [{ name: 'a', url: 'http://127.0.0.1:9001', routes: [route], plugins }];
    await run({ _format_version: '3.0', services }, '--apply');
    expect(JSON.stringify(await kong()).split('"X-Shell":"$${client.ip}"')).toHaveLength(3);
  });

  it('needs the role admin for values of keys', async () => {
    const { body } = await api.post('/admin/tokens', { name: 'ci', role: 'editor' });
    const flags = ['--with-key-values', '--token', body.data.token];
    expect((await run(SHOP, '--apply', ...flags)).err).toContain('needs the role "admin"');
    expect((await run(SHOP, '--apply', '--token', body.data.token)).code).toBe(0);
  });

  it('imported again, gives a key the value that the document has now', async () => {
    await run(SHOP, '--apply', '--with-key-values');
    const value = 'Zq7t4KxW2m9PdR5sVb8NcL3f';
    const changed = JSON.parse(JSON.stringify(SHOP).replace(KEY, value));
    const { out } = await run(changed, '--apply', '--with-key-values');
    expect(out).not.toContain(value);
    const active = async (token: string): Promise<boolean> =>
      (await api.post('/tokens/introspect', { token })).body.data.active;
    expect([await active(value), await active(KEY)]).toEqual([true, false]);
  });

  it('writes a valid file that only its owner can read, without a gateway', async () => {
    const out = join(folder, 'gateway.yaml');
    const env = { HEADGATE_TOKEN: '', HEADGATE_SERVER: 'http://127.0.0.1:1' };
    const args = ['import', 'kong', '-', '--with-key-values', '--out', out, '--app', 'shop'];
    expect(await headgate(api, args, env, JSON.stringify(SHOP))).toMatchObject({ code: 0, err: '' });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const text = readFileSync(out, 'utf8');
    expect(text).toContain('token_sha256: ');
    expect(text).not.toContain(KEY);
    expect((await headgate(api, ['config', 'validate', out], env)).code).toBe(0);
  });

  it.each([
    ['a: 1\na: 2', '-:2:1: /a is given twice'],
    ['_format_version: "3.0"\nservices: [{name: no}]', 'is a boolean to some readers of YAML'],
    ['[]', 'it is not an object'],
    ['_format_version: "4.0"', 'its _format_version is "4.0"; expected "1.1", "2.1", "3.0"'],
    [`${'['.repeat(300)}${']'.repeat(300)}`, 'nested deeper'],
    [`a: "${'x'.repeat(11 * 1024 * 1024)}"`, 'has more than 10485760 bytes'],
  ])('says plainly why it cannot import %.40s', async (text, message) => {
    const { code, err } = await headgate(api, ['import', 'kong', '-'], {}, text);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });
});

const OPTIONS = { slug: 'kong', gatewayPath: undefined, withKeyValues: true };
interface Imported {
  readonly app: Json;
  readonly findings: readonly { readonly pointer: string; readonly reason: string }[];
}
const imported = (value: unknown): Imported => {
  const result = importKong(value, OPTIONS);
  if ('problem' in result) throw new Error(result.problem);
  return result;
};

/** Pointers of all leaves and of all objects. */
function places(value: unknown, pointer = ''): { leaves: string[]; objects: string[] } {
  if (typeof value !== 'object' || value === null) return { leaves: [pointer], objects: [] };
  const members = Object.entries(value).map(([name, member]) => places(member, `${pointer}/${name}`));
  return {
    leaves: members.flatMap(({ leaves }) => leaves),
    objects: [...(Array.isArray(value) ? [] : [pointer]), ...members.flatMap(({ objects }) => objects)],
  };
}

function parentOf(root: Json, pointer: string): { readonly parent: Json; readonly name: string } {
  const tokens = pointer.split('/').slice(1);
  const name = tokens.pop() ?? '';
  return { parent: tokens.reduce<Json>((found, token) => found[token], root), name };
}

const covered = (findings: Imported['findings'], pointer: string): boolean =>
  findings.some((finding) => pointer === finding.pointer || pointer.startsWith(`${finding.pointer}/`));

describe('nothing is lost in silence', () => {
  const { leaves, objects } = places(SHOP);

  it('reports an unknown member, wherever it is and whatever it says', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...objects),
        fc.string({ minLength: 1 }).map((name) => `x${name.replaceAll(/[~/]/g, '-')}`),
        fc.jsonValue().filter((value) => value !== null && JSON.stringify(value).length > 2),
        (object, name, value) => {
          const document = structuredClone(SHOP) as Json;
          const { parent, name: last } = parentOf(document, `${object}/${name}`);
          parent[last] = value;
          const inner = places(value, `${object}/${name}`).leaves;
          const { findings } = imported(document);
          for (const leaf of inner) expect(covered(findings, leaf), leaf).toBe(true);
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
      for (const value of ['other-value-1', 977, true, 'https://other.example.com', ['/odd'], { odd: 1 }]) {
        const document = structuredClone(SHOP) as Json;
        const { parent, name } = parentOf(document, leaf);
        if (parent[name] === value || leaf === '/_format_version') continue;
        parent[name] = value;
        const after = imported(document);
        const text = JSON.stringify(after.app);
        const isSame = text === before;
        if (isSame && !covered(after.findings, leaf)) silent.push(`${leaf} = ${JSON.stringify(value)}`);
        if (isSame || checked.has(text)) continue;
        checked.add(text);
        const { errors } = await checkOffline({ apps: { kong: after.app } });
        if (errors.length > 0) invalid.push(`${leaf} = ${JSON.stringify(value)}: ${JSON.stringify(errors)}`);
      }
    }
    expect({ silent, invalid }).toEqual({ silent: [], invalid: [] });
  }, 300_000);

  it('imports whatever a document has, in a form that the gateway takes', () => {
    fc.assert(
      fc.property(fc.constantFrom(...leaves, ...objects.slice(1)), fc.jsonValue(), (pointer, value) => {
        const document = structuredClone(SHOP) as Json;
        const { parent, name } = parentOf(document, pointer);
        parent[name] = value;
        const result = importKong(document, OPTIONS);
        expect('problem' in result || result.app !== undefined).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it('takes 5,000 services with a route and a plugin each in seconds', () => {
    const services = Array.from({ length: 5_000 }, (_, index) => ({
      name: `s${index}`,
      url: `http://s${index}.internal`,
      routes: [{ name: `r${index}`, paths: [`/group${index % 10}/s${index}`] }],
      plugins: [{ name: 'rate-limiting', config: { minute: 5 + index } }],
    }));
    const from = performance.now();
    const { app } = imported({ _format_version: '3.0', services, plugins: SHOP.plugins });
    expect(Object.keys(app.versions)).toHaveLength(5_000);
    expect(performance.now() - from).toBeLessThan(20_000);
  });
});
