/** A gateway without a database: what it refuses at the start, what it serves, and what only a database could take. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../support/backends/origin-process.ts';
import { ADMIN_TOKEN, runToEnd, type TestGateway } from '../../support/gateway.ts';
import { configYaml, startFileRig, statusOf, untilStatus, type FileRig } from '../../support/config-file.ts';
import { until } from '../../support/measure/until.ts';
import { metric } from '../../support/policies.ts';
import { startRedis } from '../../support/programs/redis.ts';

const TIMEOUT = { timeout: 90_000 };
const KEY = 'hV3xQ9mT2kWz7RbLc5NpYd8F';
const OTHER_KEY = 'Tq7Zr1WvB4nXk9LsGd2YcJ6H';
const KEYED = `    default_policy: { auth: { auth_type: api_key } }\n`;
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let rig: FileRig;
let port: number;
beforeAll(async () => {
  rig = await startFileRig();
  ({ port } = rig.origin);
});
afterAll(() => rig.end());

describe('a start with configuration files', () => {
  const refused = async (file: string, env: Record<string, string> = {}): Promise<string> => {
    const all = { GATEWAY_CONFIG_FILE: file, GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN, ...env };
    const { code, output } = await runToEnd(all, [], { cwd: rig.folder });
    expect(code).toBe(1);
    return output;
  };

  it('is refused with every problem and its place', TIMEOUT, async () => {
    const text = configYaml({ port }).replace('GET /x', 'FETCH /x').replace('/a\n', '"a\\n"\n');
    rig.write('wrong.yaml', text);
    const output = await refused('wrong.yaml');
    expect(output).toContain('Cannot use GATEWAY_CONFIG_FILE="wrong.yaml"');
    expect(output).toContain('found 2:');
    expect(output).toMatch(
      /^\s*\S+wrong\.yaml:3:5: \/apps\/a\/gateway_path .*; the value ends in a line break$/m,
    );
    expect(output).toMatch(
      /wrong\.yaml:14:15: \/apps\/a\/versions\/v1\/revisions\/r1\/endpoints\/FETCH ~1x /,
    );
    expect(output).not.toMatch(/\n {4}at /);
  });

  it('is refused where the file is no YAML, is missing, or is empty', TIMEOUT, async () => {
    rig.write('broken.yaml', 'apps: {');
    expect(await refused('broken.yaml')).toMatch(/broken\.yaml:1:\d+: is not valid YAML/);
    expect(await refused('missing.yaml')).toContain('missing.yaml:1:1: cannot be read: it does not exist');
    rig.write('empty.yaml', '');
    expect(await refused('empty.yaml')).toContain('declares no "apps"');
  });

  it('is refused beside a database', TIMEOUT, async () => {
    const output = await refused('one.yaml', { GATEWAY_DATABASE_URL: 'sqlite://:memory:' });
    expect(output).toContain('together with GATEWAY_DATABASE_URL');
    const { code, output: text } = await runToEnd({ GATEWAY_CONFIG_FILE: 'one.yaml' }, ['migrate']);
    expect([code, text]).toEqual([1, expect.stringContaining('there is no database')]);
  });

  it('is refused for keys that have no value, or have it in the file', TIMEOUT, async () => {
    const app = `    keys:\n      one: {}\n      two: { token: ${KEY} }\n`;
    const literal = await refused(rig.write('keys.yaml', configYaml({ port, app })));
    expect(literal).toMatch(/keys\.yaml:7:14: \/apps\/a\/keys\/two\/token must be one reference/);
    expect(literal).not.toContain(KEY);
    const none = await refused(rig.write('keys.yaml', configYaml({ port, app: '    keys: { one: {} }\n' })));
    expect(none).toMatch(/keys\.yaml:5:13: \/apps\/a\/keys\/one needs a value, since there is no database/);
  });

  it(
    'warns in the log of what is valid and probably not meant, and tells an admin token',
    TIMEOUT,
    async () => {
      const app = `    default_policy: { rate_limit: { requests: 2, window_seconds: 60 } }\n`;
      const path = rig.write('limit.yaml', configYaml({ port, app }));
      const gateway = await rig.start('limit.yaml', { env: { GATEWAY_ADMIN_TOKEN: '' } });
      const found = gateway.logs().filter(({ warnings }) => warnings !== undefined);
      expect(found).toMatchObject([{ level: 'warn', file: path }]);
      expect(found[0]?.['warnings']).toEqual([
        expect.stringMatching(
          /limit\.yaml:5:\d+: \/apps\/a\/default_policy\/rate_limit\/enabled: .*Set `enabled`/,
        ),
      ]);
      // The same files once more say nothing new.
      process.kill(gateway.process.pid ?? 0, 'SIGHUP');
      await until(() => gateway.logs().some(({ msg }) => msg === 'the configuration files are read again'));
      expect(gateway.logs().filter(({ warnings }) => warnings !== undefined)).toHaveLength(1);
      // Once, and it ends with the process.
      const tokens = await until(() => gateway.output().match(/hga_[A-Za-z0-9_-]{49}/g) ?? undefined);
      expect(tokens).toHaveLength(1);
      await expect.poll(() => gateway.output()).toContain('is lost when this process ends');
      const { status } = await gateway.api('GET', '/apps', undefined, bearer(tokens[0] ?? ''));
      expect(status).toBe(200);
      expect(existsSync(join(rig.folder, 'data/admin-token'))).toBe(false);
    },
  );
});

describe('a gateway with configuration files', () => {
  let gateway: TestGateway;
  const app = `${KEYED}    keys:\n      mobile: { token: '\${env:MOBILE_KEY}' }\n      web: { token_sha256: ${sha256(OTHER_KEY)} }\n      file: { token: '\${file:key.txt}' }\n`;
  beforeAll(async () => {
    rig.write('key.txt', 'Kp4Yx8Rb1Vn6Wc3Tz9Lq2Hd7\n');
    rig.write('served.yaml', configYaml({ port, app }));
    gateway = await rig.start('served.yaml', { env: { MOBILE_KEY: KEY } });
  }, 60_000);

  it('lets keys in by a reference or by their hash, and shows no value', TIMEOUT, async () => {
    expect(await statusOf(gateway, '/a/v1/x')).toBe(401);
    for (const key of [KEY, OTHER_KEY, 'Kp4Yx8Rb1Vn6Wc3Tz9Lq2Hd7']) {
      expect(await statusOf(gateway, '/a/v1/x', bearer(key))).toBe(200);
    }
    const shown = [
      await gateway.must('GET', '/config'),
      await gateway.must('GET', '/apps/a/tokens'),
      await gateway.must('GET', '/audit'),
    ];
    for (const secret of [KEY, OTHER_KEY, sha256(KEY), sha256(OTHER_KEY)]) {
      expect(JSON.stringify(shown)).not.toContain(secret);
      expect(gateway.output()).not.toContain(secret);
    }
    expect(shown[0].config.apps.a.keys).toEqual({ file: {}, mobile: {}, web: {} });
  });

  it('takes a new value of a key when the file that holds it changes', TIMEOUT, async () => {
    const key = 'Mz5Gt2Qk8Xw1Bv7Ny4Pf9Js3';
    rig.replace('key.txt', `${key}\n`);
    await until(async () => (await statusOf(gateway, '/a/v1/x', bearer(key))) === 200);
    expect(await statusOf(gateway, '/a/v1/x', bearer('Kp4Yx8Rb1Vn6Wc3Tz9Lq2Hd7'))).toBe(401);
    expect(await statusOf(gateway, '/a/v1/x', bearer(KEY))).toBe(200);
  });

  it('lets two keys swap their values, and removes keys that are no longer declared', TIMEOUT, async () => {
    const before = await gateway.must('GET', '/apps/a/tokens');
    const swapped = `${KEYED}    keys:\n      web: { token: '\${env:MOBILE_KEY}' }\n      mobile: { token_sha256: ${sha256(OTHER_KEY)} }\n`;
    rig.write('served.yaml', configYaml({ port, app: swapped }));
    await until(async () => (await gateway.must('GET', '/apps/a/tokens')).length === 2);
    const after = await gateway.must('GET', '/apps/a/tokens');
    const prefixes = (keys: { id: string; name: string; token_prefix: string }[], name: string): unknown[] =>
      keys.filter((key) => key.name === name).map(({ id, token_prefix: prefix }) => [id, prefix]);
    const [[mobileId, mobile]] = prefixes(before, 'mobile') as [[string, string]];
    const [[webId, web]] = prefixes(before, 'web') as [[string, string]];
    expect(prefixes(after, 'mobile')).toEqual([[mobileId, web]]);
    expect(prefixes(after, 'web')).toEqual([[webId, mobile]]);
    expect(await statusOf(gateway, '/a/v1/x', bearer(KEY))).toBe(200);
    rig.write('served.yaml', configYaml({ port, app: KEYED }));
    await until(async () => (await statusOf(gateway, '/a/v1/x', bearer(KEY))) === 401);
    rig.write('served.yaml', configYaml({ port, app }));
    await until(async () => (await statusOf(gateway, '/a/v1/x', bearer(KEY))) === 200);
  });

  it('refuses every write with the reason, and still reads, plans and explains', TIMEOUT, async () => {
    /** These write no configuration. */
    const others = new Set([
      'planConfig',
      'bisectConfig',
      'introspectToken',
      'explainRequest',
      'tryRequest',
      'importOpenApi',
      'explainVersions',
      'signIn',
      'signOut',
      'revokeSession',
      'startSampling',
      'stopSampling',
      'createDebugToken',
      'deleteDebugToken',
      'resetShadowReport',
      'renewCertificate',
      'testWebhook',
      'createProfile',
      'rekeySecrets',
    ]);
    const { body: document } = await gateway.api('GET', '/openapi.json');
    const before = await gateway.must('GET', '/config');
    let writes = 0;
    const met = new Set<string>();
    for (const [path, operations] of Object.entries<Record<string, { operationId: string }>>(
      document.paths,
    )) {
      for (const [method, { operationId }] of Object.entries(operations)) {
        if (!['post', 'put', 'patch', 'delete'].includes(method)) continue;
        const target = `/${path.replaceAll(/\{(\w+)\}/g, (_all, name) => (name === 'app_id' ? 'a' : 'v1'))}`;
        const { status, body } = await gateway.api(method.toUpperCase(), target, {});
        const is = [operationId, status, body?.code, body?.detail];
        if (others.has(operationId)) {
          met.add(operationId);
          expect(is[2]).not.toBe('configuration_from_file');
          continue;
        }
        writes += 1;
        const detail = `The configuration comes from a file and is changed there: ${join(rig.folder, 'served.yaml')}`;
        expect(is).toEqual([operationId, 409, 'configuration_from_file', detail]);
      }
    }
    expect(writes).toBeGreaterThan(20);
    expect(met).toEqual(others);
    expect(await gateway.must('GET', '/config')).toEqual(before);
    const plan = await gateway.must('POST', '/config/plan', {
      config: { apps: { b: { gateway_path: '/b' } } },
    });
    expect(plan.totals).toEqual({ create: 1, update: 0, delete: 0 });
    const explained = await gateway.must('POST', '/explain', { method: 'GET', url: '/a/v1/x' });
    expect(JSON.stringify(explained)).toContain('credentials_missing');
  });

  it('asks for a token before it tells the reason', TIMEOUT, async () => {
    const { status } = await gateway.api('POST', '/apps', {}, { authorization: 'Bearer wrong' });
    expect(status).toBe(401);
  });
});

describe('ids of records from files', () => {
  const ids = async (gateway: TestGateway): Promise<string[]> => {
    const all = [
      '/apps',
      '/apps/a/versions',
      '/apps/a/versions/v1/revisions',
      '/apps/a/versions/v1/revisions/r1/endpoints',
      '/apps/a/tokens',
    ];
    const lists = await Promise.all(all.map((path) => gateway.must('GET', path)));
    return lists.flat().map(({ id }) => id as string);
  };

  it(
    'are the same on another node, for expired keys, and of an app that was removed meanwhile',
    TIMEOUT,
    async () => {
      const app = `    keys:\n      old: { token: '\${env:MOBILE_KEY}', expires_at: '2020-01-01T00:00:00Z' }\n`;
      const text = configYaml({ port, app, endpoints: ['GET /x', 'POST /x', 'GET /y/{id}'] });
      rig.write('ids.yaml', text);
      const env = { MOBILE_KEY: KEY };
      const one = await rig.start('ids.yaml', { env });
      const first = await ids(one);
      expect(new Set(first).size).toBe(7);
      rig.write('ids.yaml', 'apps: {}\n');
      await untilStatus(one, '/a/v1/x', 404);
      rig.write('ids.yaml', text);
      await untilStatus(one, '/a/v1/x', 200);
      expect(await ids(one)).toEqual(first);
      // Nothing is stored: a restart is as another node.
      expect(await ids(await rig.start('ids.yaml', { env }))).toEqual(first);
    },
  );
});

describe('a takeover with configuration files', () => {
  it(
    'is made by management port, and leaves a gateway alone whose successor has a wrong file',
    TIMEOUT,
    async () => {
      rig.write('taken.yaml', configYaml({ port }));
      const ports = {
        GATEWAY_SERVER__PORT: String(await freePort()),
        GATEWAY_PROXY__PORT: String(await freePort()),
      };
      const first = await rig.start('taken.yaml', { env: ports });
      rig.write('next.yaml', 'apps: {}\nmore: 1\n');
      const env = { ...ports, GATEWAY_CONFIG_FILE: 'next.yaml', GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN };
      const failed = await runToEnd({ ...env, GATEWAY_PROXY__HOST: '127.0.0.1' }, ['start', '--take-over'], {
        cwd: rig.folder,
      });
      expect([failed.code, failed.output]).toEqual([1, expect.stringContaining('next.yaml:2:1: /more ')]);
      expect(await statusOf(first, '/a/v1/x')).toBe(200);
      // It opens its management port again within a second.
      const managed = (): Promise<number> =>
        first.api('GET', '/apps').then(
          ({ status }) => status,
          () => 0,
        );
      await expect.poll(managed, { timeout: 10_000 }).toBe(200);
      rig.write('next.yaml', configYaml({ port, endpoints: ['GET /next'] }));
      const second = await rig.start('next.yaml', { env: ports, args: ['start', '--take-over'] });
      expect(await new Promise((done) => first.process.once('exit', done))).toBe(0);
      expect(await statusOf(second, '/a/v1/next')).toBe(200);
    },
  );
});

describe('several gateways with the same file', () => {
  it('share limits in a store, and go on counting after a restart', TIMEOUT, async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const app = `    default_policy: { rate_limit: { enabled: true, requests: 20, window_seconds: 3600, per: ip } }\n`;
    rig.write('limited.yaml', configYaml({ port, app }));
    const env = { GATEWAY_REDIS_URL: redis.url, GATEWAY_LIMITS__NODES: '2' };
    const nodes = [await rig.start('limited.yaml', { env }), await rig.start('limited.yaml', { env })];
    const answers: number[] = [];
    for (let turn = 0; turn < 40; turn++)
      answers.push(await statusOf(nodes[turn % 2] as TestGateway, '/a/v1/x'));
    const admitted = answers.filter((status) => status === 200).length;
    // Two limits would admit 40. Permits that one node holds back may be missing at the end.
    expect(admitted).toBeLessThanOrEqual(20);
    expect(admitted).toBeGreaterThan(10);
    await Promise.all(nodes.map((node) => node.kill()));
    const again = await rig.start('limited.yaml', { env });
    await expect.poll(() => metric(again, 'headgate_limit_store_connected', {})).toBe(1);
    // What was held back by then may have been given back; a limit that begins anew would admit 20 more.
    const later: number[] = [];
    for (let turn = 0; turn < 20; turn++) later.push(await statusOf(again, '/a/v1/x'));
    expect(admitted + later.filter((status) => status === 200).length).toBeLessThanOrEqual(20);
    expect(later.at(-1)).toBe(429);
  });
});
