import { describe, expect, it } from 'vitest';
import { ACCESS_FIELDS } from '../model/access-fields.ts';
import { SETTINGS } from './settings-table.ts';
import { readSettings, type Settings } from './settings.ts';

function settingsOf(env: Record<string, string | undefined>): Settings {
  const result = readSettings(env);
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  return result.settings;
}

function errorsOf(env: Record<string, string | undefined>): readonly string[] {
  const result = readSettings(env);
  return 'errors' in result ? result.errors : [];
}

describe('defaults', () => {
  it('are those of the contract and the design when nothing is set', () => {
    const settings = settingsOf({});
    expect(settings).toMatchObject({
      database: {
        url: 'sqlite://data/headgate.db',
        autoMigrate: undefined,
        poolMax: 4,
        timeoutMs: 1_500,
        idleTimeoutMs: 60_000,
      },
      server: { host: '127.0.0.1', port: 9090, swaggerEnabled: false },
      adminToken: undefined,
      rateLimit: undefined,
      perIpRateLimit: undefined,
      trustedProxyIps: [],
      log: { level: 'info', format: 'json', access: 'all', accessFields: ACCESS_FIELDS },
      proxy: {
        host: '0.0.0.0',
        port: 8080,
        tls: undefined,
        maxHeadBytes: 32 * 1024,
        maxHeaders: 100,
        maxTargetBytes: 8 * 1024,
        maxBodyBytes: 0,
        headTimeoutMs: 10_000,
        keepaliveTimeoutMs: 75_000,
        connectTimeoutMs: 5_000,
        firstByteTimeoutMs: 60_000,
        idleTimeoutMs: 60_000,
        drainTimeoutMs: 30_000,
        authFailuresPerMinute: 0,
      },
    });
    expect(settings.workers).toBeGreaterThanOrEqual(1);
  });

  it('apply to empty and blank values too', () => {
    expect(settingsOf({ GATEWAY_PROXY__PORT: '', GATEWAY_TRUSTED_PROXY_IPS: '  ' })).toEqual(settingsOf({}));
  });

  it('are frozen at every depth', () => {
    const settings = settingsOf({ GATEWAY_TRUSTED_PROXY_IPS: '10.0.0.1' });
    expect(Object.isFrozen(settings)).toBe(true);
    expect(Object.isFrozen(settings.proxy)).toBe(true);
    expect(Object.isFrozen(settings.trustedProxyIps)).toBe(true);
  });
});

describe('good values', () => {
  it.each<[string, string, (settings: Settings) => unknown, unknown]>([
    ['GATEWAY_AUTO_MIGRATE', 'true', (s) => s.database.autoMigrate, true],
    ['GATEWAY_AUTO_MIGRATE', 'FALSE', (s) => s.database.autoMigrate, false],
    ['GATEWAY_AUTO_MIGRATE', '1', (s) => s.database.autoMigrate, true],
    ['GATEWAY_AUTO_MIGRATE', '0', (s) => s.database.autoMigrate, false],
    [
      'GATEWAY_DATABASE_URL',
      'sqlite:///var/h.db?mode=rwc',
      (s) => s.database.url,
      'sqlite:///var/h.db?mode=rwc',
    ],
    ['GATEWAY_DATABASE_URL', 'sqlite::memory:', (s) => s.database.url, 'sqlite::memory:'],
    ['GATEWAY_DATABASE_URL', 'postgres://u@h/db', (s) => s.database.url, 'postgres://u@h/db'],
    ['GATEWAY_DATABASE__POOL_MAX', '9', (s) => s.database.poolMax, 9],
    ['GATEWAY_DATABASE__TIMEOUT_MS', '900', (s) => s.database.timeoutMs, 900],
    ['GATEWAY_DATABASE__IDLE_TIMEOUT_MS', '1000', (s) => s.database.idleTimeoutMs, 1_000],
    ['GATEWAY_HISTORY__MAX_VERSIONS', '0', (s) => s.history.maxVersions, 0],
    ['GATEWAY_HISTORY__MAX_BYTES', '1048576', (s) => s.history.maxBytes, 1_048_576],
    ['GATEWAY_SERVER__SWAGGER_ENABLED', 'True', (s) => s.server.swaggerEnabled, true],
    ['GATEWAY_SERVER__HOST', '::', (s) => s.server.host, '::'],
    ['GATEWAY_SERVER__HOST', 'localhost', (s) => s.server.host, 'localhost'],
    ['GATEWAY_SERVER__PORT', '0', (s) => s.server.port, 0],
    ['GATEWAY_PROXY__PORT', ' 65535 ', (s) => s.proxy.port, 65_535],
    ['GATEWAY_WORKERS', '3', (s) => s.workers, 3],
    ['GATEWAY_PROXY__DRAIN_GRACE_MS', '2000', (s) => s.proxy.drainGraceMs, 2000],
    ['GATEWAY_WORKER_STALL_TIMEOUT_MS', '0', (s) => s.workerStallTimeoutMs, 0],
    ['GATEWAY_WORKER_SPARE', 'false', (s) => s.workerSpare, false],
    ['GATEWAY_KEY_USAGE_DAYS', '31', (s) => s.keyUsageDays, 31],
    ['GATEWAY_TRAFFIC__RECORDS', '0', (s) => s.traffic.records, 0],
    ['GATEWAY_TRAFFIC__RECORDS_PER_SEC', '50', (s) => s.traffic.recordsPerSec, 50],
    ['GATEWAY_ADMIN_TOKEN', 'a-token_0123456789', (s) => s.adminToken, 'a-token_0123456789'],
    [
      'GATEWAY_SECRET_KEY',
      'aB3_-'.repeat(8).concat('xyz'),
      (s) => s.secretKey,
      'aB3_-'.repeat(8).concat('xyz'),
    ],
    ['GATEWAY_SECRET_KEY', '0123456789abcDEF'.repeat(4), (s) => s.secretKey, '0123456789abcDEF'.repeat(4)],
    ['GATEWAY_LOG__LEVEL', 'WARN', (s) => s.log.level, 'warn'],
    ['GATEWAY_LOG__FORMAT', 'text', (s) => s.log.format, 'text'],
    ['GATEWAY_LOG__ACCESS', 'false', (s) => s.log.access, 'off'],
    ['GATEWAY_LOG__ACCESS', 'TRUE', (s) => s.log.access, 'all'],
    ['GATEWAY_LOG__ACCESS', '0', (s) => s.log.access, 'off'],
    ['GATEWAY_LOG__ACCESS', '1', (s) => s.log.access, 'all'],
    ['GATEWAY_LOG__ACCESS', 'off', (s) => s.log.access, 'off'],
    ['GATEWAY_LOG__ACCESS', 'Errors', (s) => s.log.access, 'errors'],
    ['GATEWAY_LOG__ACCESS', 'all', (s) => s.log.access, 'all'],
    ['GATEWAY_LOG__ACCESS_FIELDS', 'path, status', (s) => s.log.accessFields, ['path', 'status']],
    ['GATEWAY_JWT__JWKS_URI', 'https://id.example/keys', (s) => s.jwt.jwksUri, 'https://id.example/keys'],
    ['GATEWAY_JWT__AUDIENCES', 'a, b,a', (s) => s.jwt.audiences, ['a', 'b']],
    ['GATEWAY_JWT__ALGORITHMS', 'RS256,ES256', (s) => s.jwt.algorithms, ['RS256', 'ES256']],
    ['GATEWAY_JWT__LEEWAY_SECS', '0', (s) => s.jwt.leewaySecs, 0],
    ['GATEWAY_JWT__SECRET', 'x'.repeat(32), (s) => s.jwt.secret, 'x'.repeat(32)],
    [
      'GATEWAY_PROXY__MAX_BODY_BYTES',
      '9007199254740991',
      (s) => s.proxy.maxBodyBytes,
      Number.MAX_SAFE_INTEGER,
    ],
    [
      'GATEWAY_TRUSTED_PROXY_IPS',
      '10.0.0.0/8, 192.0.2.7,2001:db8::/32,::1',
      (s) => s.trustedProxyIps,
      ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1'],
    ],
  ])('%s=%s', (name, value, read, expected) => {
    expect(read(settingsOf({ [name]: value }))).toEqual(expected);
  });

  it('come together from variables that belong together', () => {
    const settings = settingsOf({
      GATEWAY_RATE_LIMIT_REQUESTS: '100',
      GATEWAY_RATE_LIMIT_WINDOW_SECS: '60',
      GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
      GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '10',
      GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '1',
      GATEWAY_PROXY__TLS__CERT_FILE: '/c.pem, /d.pem',
      GATEWAY_PROXY__TLS__KEY_FILE: '/k.pem,/l.pem',
    });
    expect(settings.rateLimit).toEqual({ requests: 100, windowSecs: 60 });
    expect(settings.perIpRateLimit).toEqual({ requests: 10, windowSecs: 1 });
    expect(settings.proxy.tls).toEqual([
      { certFile: '/c.pem', keyFile: '/k.pem' },
      { certFile: '/d.pem', keyFile: '/l.pem' },
    ]);
  });
});

describe('bad values', () => {
  it.each<[string, string, RegExp]>([
    ['GATEWAY_AUTO_MIGRATE', 'yes', /true or false/],
    ['GATEWAY_SERVER__PORT', '65536', /integer, 0 to 65535/],
    ['GATEWAY_SERVER__PORT', '-1', /integer/],
    ['GATEWAY_SERVER__PORT', '80.5', /integer/],
    ['GATEWAY_SERVER__PORT', '1e3', /integer/],
    ['GATEWAY_SERVER__PORT', '0x50', /integer/],
    ['GATEWAY_SERVER__PORT', '９０', /integer/],
    ['GATEWAY_SERVER__HOST', '127.0.0.1:80', /without a port/],
    ['GATEWAY_SERVER__HOST', '[::1]', /without brackets/],
    ['GATEWAY_SERVER__HOST', '999.1.1.1', /IP address/],
    ['GATEWAY_SERVER__HOST', 'a b', /host name/],
    ['GATEWAY_WORKERS', '0', /1 to 256/],
    ['GATEWAY_RATE_LIMIT_REQUESTS', '0', /1 to/],
    ['GATEWAY_TRUSTED_PROXY_IPS', '10.0.0.0/33', /CIDR/],
    ['GATEWAY_TRUSTED_PROXY_IPS', '10.0.0.0/', /CIDR/],
    ['GATEWAY_PROXY__PROXY_PROTOCOL_FROM', 'socket', /CIDR blocks .*; or unix/],
    ['GATEWAY_TRUSTED_PROXY_IPS', '10.0.0.1/8/8', /CIDR/],
    ['GATEWAY_TRUSTED_PROXY_IPS', '::1/129', /CIDR/],
    ['GATEWAY_TRUSTED_PROXY_IPS', 'fe80::1%eth0', /CIDR/],
    ['GATEWAY_TRUSTED_PROXY_IPS', '10.0.0.1,,10.0.0.2', /CIDR/],
    ['GATEWAY_TRUSTED_PROXY_IPS', 'lb.example', /CIDR/],
    ['GATEWAY_DATABASE_URL', 'mysql://db', /sqlite:\/\//],
    ['GATEWAY_DATABASE_URL', 'headgate.db', /sqlite:\/\//],
    ['GATEWAY_JWT__JWKS_URI', 'ftp://id.example/keys', /https:\/\//],
    ['GATEWAY_JWT__JWKS_URI', 'id.example/keys', /https:\/\//],
    ['GATEWAY_JWT__ALGORITHMS', 'none', /RS256/],
    ['GATEWAY_JWT__LEEWAY_SECS', '601', /0 to 600/],
    ['GATEWAY_LOG__LEVEL', 'verbose', /trace, debug, info, warn, error, fatal or silent/],
    ['GATEWAY_LOG__FORMAT', 'pretty', /json or text/],
    ['GATEWAY_PROXY__HEAD_TIMEOUT_MS', '0', /1 to/],
    ['GATEWAY_PROXY__MAX_BODY_BYTES', '9007199254740992', /integer/],
  ])('%s=%s names variable, value and expectation', (name, value, expected) => {
    const errors = errorsOf({ [name]: value }).filter((error) => error.includes(`${name}=`));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(JSON.stringify(value));
    expect(errors[0]).toMatch(expected);
  });

  it('are reported all at once', () => {
    const errors = errorsOf({ GATEWAY_WORKERS: 'x', GATEWAY_PROXY__PORT: 'y', GATEWAY_LOG__LEVEL: 'z' });
    expect(errors).toHaveLength(3);
  });

  it('never show a secret', () => {
    const result = readSettings({
      GATEWAY_ADMIN_TOKEN: 'hunter two',
      GATEWAY_JWT__SECRET: 'hunter2',
      GATEWAY_REDIS_URL: 'redis://:hunter2@cache:port',
      GATEWAY_DATABASE_URL: 'mysql://root:hunter2@db/x',
      GATEWAY_JWT__JWKS_URI: 'ftp://me:hunter2@id.example/',
    });
    expect('errors' in result && result.errors.length).toBe(5);
    expect(JSON.stringify(result)).not.toContain('hunter');
  });

  it('are shortened when they are long', () => {
    expect(errorsOf({ GATEWAY_WORKERS: 'x'.repeat(100_000) })[0]?.length).toBeLessThan(400);
  });
});

describe('checks over several variables', () => {
  const secret = 's'.repeat(32);
  it.each<[string, Record<string, string>, RegExp]>([
    ['a request count without a window', { GATEWAY_RATE_LIMIT_REQUESTS: '1' }, /WINDOW_SECS to be set/],
    ['a window without a request count', { GATEWAY_RATE_LIMIT_WINDOW_SECS: '1' }, /REQUESTS to be set/],
    ['a certificate without a key', { GATEWAY_PROXY__TLS__CERT_FILE: 'c' }, /KEY_FILE to be set/],
    ['a key without a certificate', { GATEWAY_PROXY__TLS__KEY_FILE: 'k' }, /CERT_FILE to be set/],
    [
      'fewer keys than certificates',
      { GATEWAY_PROXY__TLS__CERT_FILE: 'c,d', GATEWAY_PROXY__TLS__KEY_FILE: 'k' },
      /KEY_FILE.*expected as many files as GATEWAY_PROXY__TLS__CERT_FILE has, which is 2/,
    ],
    [
      'an empty path among certificates',
      { GATEWAY_PROXY__TLS__CERT_FILE: 'c,,d', GATEWAY_PROXY__TLS__KEY_FILE: 'k,l,m' },
      /CERT_FILE.*expected paths, separated by commas/,
    ],
    [
      'a per-IP limit without numbers',
      { GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true' },
      /PER_IP_RATE_LIMIT_REQUESTS/,
    ],
    [
      'a per-IP limit without a window',
      { GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true', GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '1' },
      /PER_IP_RATE_LIMIT_WINDOW_SECS/,
    ],
    [
      'a target longer than the head',
      { GATEWAY_PROXY__MAX_HEAD_BYTES: '2048', GATEWAY_PROXY__MAX_TARGET_BYTES: '4096' },
      /at most GATEWAY_PROXY__MAX_HEAD_BYTES/,
    ],
    ['one port for both listeners', { GATEWAY_PROXY__PORT: '9090' }, /other than GATEWAY_SERVER__PORT/],
    [
      'both kinds of keys',
      { GATEWAY_JWT__JWKS_URI: 'https://i/', GATEWAY_JWT__SECRET: secret },
      /one of the two/,
    ],
    ['both kinds of algorithms', { GATEWAY_JWT__ALGORITHMS: 'HS256,RS256' }, /not both/],
    [
      'shared-secret algorithms with public keys',
      { GATEWAY_JWT__JWKS_URI: 'https://i/', GATEWAY_JWT__ALGORITHMS: 'HS256' },
      /public-key algorithms only/,
    ],
    [
      'public-key algorithms with a shared secret',
      { GATEWAY_JWT__SECRET: secret, GATEWAY_JWT__ALGORITHMS: 'RS256' },
      /HS256, HS384 or HS512 only/,
    ],
  ])('refuse %s', (_what, env, expected) => {
    expect(errorsOf(env).join('\n')).toMatch(expected);
  });

  it('accept port 0 for both listeners', () => {
    expect(errorsOf({ GATEWAY_PROXY__PORT: '0', GATEWAY_SERVER__PORT: '0' })).toEqual([]);
  });
});

describe('warnings', () => {
  it('name an unknown variable and the nearest known one, and do not stop the start', () => {
    const result = readSettings({ GATEWAY_PROXY_PORT: '1', GATEWAY_SERVICE_HOST: 'x', PATH: '/bin' });
    expect('settings' in result).toBe(true);
    expect(result.warnings).toHaveLength(2);
    expect(result.warnings[0]).toMatch(/GATEWAY_PROXY_PORT .*GATEWAY_PROXY__PORT/);
  });

  const redirect = { GATEWAY_PROXY__HTTPS_REDIRECT_PORT: '443' };
  const h2c = { GATEWAY_PROXY__H2C: 'true' };
  const hsts = { GATEWAY_PROXY__HSTS_SECS: '60' };
  const files = { GATEWAY_PROXY__TLS__CERT_FILE: 'a.pem', GATEWAY_PROXY__TLS__KEY_FILE: 'a.key' };
  const acme = {
    GATEWAY_ACME__DIRECTORY: 'https://ca.test/directory',
    GATEWAY_ACME__ACCEPT_TERMS: 'true',
    GATEWAY_ACME__CHALLENGES: 'tls-alpn-01',
  };
  const none: readonly string[] = [];
  it.each([
    ['a redirect where the only port has TLS', { ...redirect, ...files }, Object.keys(redirect)],
    [
      'the same with ordered certificates',
      { ...redirect, ...h2c, ...acme },
      Object.keys({ ...h2c, ...redirect }),
    ],
    [
      'a redirect from a port beside it',
      { ...redirect, ...h2c, ...files, GATEWAY_PROXY__TLS__PORT: '8443' },
      none,
    ],
    [
      'a redirect on the socket',
      { ...redirect, ...h2c, ...files, GATEWAY_PROXY__UNIX_SOCKET: '/run/x.sock' },
      none,
    ],
    ['a redirect to a proxy in front, which has TLS', redirect, none],
    ['HSTS without TLS', hsts, Object.keys(hsts)],
    ['HSTS with TLS', { ...hsts, ...files }, none],
  ])('%s: names each setting without effect', (_case, env, names) => {
    const result = readSettings(env);
    expect('settings' in result && result.warnings.map((text) => text.split(' has no effect: ')[0])).toEqual(
      names,
    );
  });

  it('tell a command on a database of its arguments nothing about a gateway, and of wrong names all the same', () => {
    const env = {
      GATEWAY_DATABASE_URL: 'postgres://db/x',
      GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '5',
      GATEWAY_NO: '1',
    };
    expect(readSettings(env).warnings).toHaveLength(3);
    expect(readSettings(env, false).warnings).toEqual([
      expect.stringMatching(/^GATEWAY_NO is not a setting/),
    ]);
  });

  it('warn of per-IP numbers that have no effect', () => {
    expect(readSettings({ GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '5' }).warnings[0]).toMatch(/no effect/);
  });
});

describe('the table', () => {
  const constants = Object.entries(SETTINGS).filter(
    ([, row]) => row.default !== undefined && !Array.isArray(row.default),
  );
  it.each(constants)('has a default for %s that its own parser gives back', (_name, row) => {
    expect(row.parse(String(row.default))).toEqual({ value: row.default });
  });
});

describe('a configuration file', () => {
  it('stands alone, and an empty database URL counts as not set', () => {
    const env = { GATEWAY_CONFIG_FILE: 'headgate.yaml' };
    expect(settingsOf(env).configFile).toBe('headgate.yaml');
    expect(settingsOf({ ...env, GATEWAY_DATABASE_URL: ' ' }).configFile).toBe('headgate.yaml');
    expect(errorsOf({ ...env, GATEWAY_DATABASE_URL: 'sqlite://data/headgate.db' })).toEqual([
      expect.stringMatching(
        /^Cannot use GATEWAY_CONFIG_FILE="headgate.yaml" together with GATEWAY_DATABASE_URL/,
      ),
    ]);
  });
});

describe('variables of OpenTelemetry', () => {
  const otelOf = (env: Record<string, string>) => {
    const result = readSettings(env);
    if ('errors' in result) throw new Error(result.errors.join('\n'));
    return result.settings.otel;
  };

  it('count where a setting of the gateway is not set', () => {
    expect(otelOf({})).toBeUndefined();
    const otel = otelOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/base/',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1%2C2,b=c=d',
      OTEL_SERVICE_NAME: 'edge',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      GATEWAY_OTEL__SERVICE_NAME: 'own',
      GATEWAY_OTEL__KEEP: 'errors,slow',
    });
    expect(otel).toMatchObject({
      tracesUrl: 'http://collector:4318/base/v1/traces',
      connections: { traces: { headers: { a: '1,2', b: 'c=d' } } },
      serviceName: 'own',
      sampleRatio: 0.25,
      keep: { errors: true, denials: false, retries: false, slow: true },
    });
    expect(otelOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/x' })?.tracesUrl).toBe('https://c/x');
  });

  it.each([
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      'Cannot use OTEL_TRACES_SAMPLER_ARG="2": expected a number from 0 to 1',
    ],
    [
      { OTEL_EXPORTER_OTLP_CLIENT_KEY: 'k.pem' },
      'Cannot use OTEL_EXPORTER_OTLP_CLIENT_KEY="k.pem" alone: expected OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE to be set',
    ],
    [
      { GATEWAY_OTEL__CLIENT_KEY_FILE: 'k.pem' },
      'Cannot use GATEWAY_OTEL__CLIENT_KEY_FILE="k.pem" alone: expected GATEWAY_OTEL__CLIENT_CERT_FILE to be set',
    ],
  ])('are named in messages as they were set: %j', (env, message) => {
    const result = readSettings({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1' });
    expect('errors' in result && result.errors.join('\n')).toContain(message);
  });

  it.each(['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'GATEWAY_OTEL__HEADERS'])(
    '%s has no line break in a value, which no request could have',
    (name) => {
      const result = readSettings({
        [name]: 'a=b,x=secret%0d%0ay',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1',
      });
      expect('errors' in result && result.errors).toEqual([
        `Cannot use ${name}=(hidden): expected values without line breaks and other characters that a header field cannot have.`,
      ]);
    },
  );

  it('of one signal apply to it, instead of those for all signals', () => {
    const otel = otelOf({
      GATEWAY_OTEL__ENDPOINT: 'http://c:1',
      GATEWAY_OTEL__HEADERS: 'all=1,shared=2',
      GATEWAY_OTEL__CLIENT_CERT_FILE: 'all.crt',
      GATEWAY_OTEL__CLIENT_KEY_FILE: 'all.key',
      OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-key=t',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: 't.crt',
      OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: 't.key',
      OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'LowMemory',
      GATEWAY_OTEL__LOGS_CA_FILE: 'own.pem',
      OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE: 'standard.pem',
    });
    const all = {
      headers: { all: '1', shared: '2' },
      timeoutMs: 1_000,
      compression: 'none',
      caFile: undefined,
      certFile: 'all.crt',
      keyFile: 'all.key',
    };
    expect(otel).toMatchObject({
      temporality: 'lowmemory',
      connections: {
        traces: { ...all, headers: { 'x-key': 't' }, timeoutMs: 2_000, certFile: 't.crt', keyFile: 't.key' },
        metrics: { ...all, compression: 'gzip' },
        logs: { ...all, caFile: 'own.pem' },
      },
    });
    // One that has headers of its own must not get the credentials of another.
    expect(otel?.connections.traces.headers).toEqual({ 'x-key': 't' });
    const half = readSettings({ OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY: 'l.key' });
    expect('errors' in half && half.errors.join()).toContain('OTEL_EXPORTER_OTLP_LOGS_CLIENT_CERTIFICATE');
  });

  it.each([
    ['always_on', 1],
    ['parentbased_always_off', 0],
    ['traceidratio', 1],
    ['jaeger_remote', 0.01],
  ])('the sampler %s is the ratio %d', (sampler, ratio) => {
    const env = { GATEWAY_OTEL__ENDPOINT: 'http://c:1', OTEL_TRACES_SAMPLER: sampler };
    expect(otelOf(env)?.sampleRatio).toBe(ratio);
    expect(otelOf({ ...env, GATEWAY_OTEL__SAMPLE_RATIO: '0.5' })?.sampleRatio).toBe(0.5);
  });

  it('switch the export off if no setting of the gateway switches it on', () => {
    const off = { OTEL_SDK_DISABLED: 'true' };
    expect(otelOf({ ...off, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1' })).toBeUndefined();
    expect(otelOf({ ...off, GATEWAY_OTEL__ENDPOINT: 'http://c:1' })).toBeDefined();
  });

  it.each([
    [{}, undefined],
    [{ GATEWAY_OTEL__SIGNALS: 'logs' }, 'http://c:1/v1/logs'],
    [{ OTEL_LOGS_EXPORTER: 'otlp' }, 'http://c:1/v1/logs'],
    [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l:1/x' }, 'http://l:1/x'],
    [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l:1/x', OTEL_LOGS_EXPORTER: 'none' }, undefined],
    [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l:1/x', OTEL_SDK_DISABLED: 'true' }, undefined],
    [{ GATEWAY_OTEL__LOGS_ENDPOINT: 'http://l:1/x', GATEWAY_OTEL__SIGNALS: 'traces' }, undefined],
  ])('with %j logs go to %s', (env, logsUrl) => {
    expect(otelOf({ GATEWAY_OTEL__ENDPOINT: 'http://c:1', ...env })?.logsUrl).toBe(logsUrl);
  });

  it('of processors are the time-outs of exports, if exporters have none', () => {
    const env = {
      GATEWAY_OTEL__ENDPOINT: 'http://c:1',
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_BSP_EXPORT_TIMEOUT: '1000',
      OTEL_METRIC_EXPORT_TIMEOUT: '2000',
      OTEL_BLRP_EXPORT_TIMEOUT: '3000',
    };
    const timeouts = (more: Record<string, string>) => {
      const { traces, metrics, logs } = otelOf({ ...env, ...more })?.connections ?? expect.unreachable();
      return [traces, metrics, logs].map(({ timeoutMs }) => timeoutMs);
    };
    expect(timeouts({})).toEqual([1_000, 2_000, 3_000]);
    expect(readSettings(env).warnings).toEqual([]);
    expect(timeouts({ OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '500' })).toEqual([1_000, 2_000, 500]);
    expect(timeouts({ GATEWAY_OTEL__TIMEOUT_MS: '700' })).toEqual([700, 700, 700]);
    // What an SDK takes does not stop a gateway.
    expect(timeouts({ OTEL_METRIC_EXPORT_TIMEOUT: '120000' })).toEqual([1_000, 10_000, 3_000]);
  });

  it.each<[Record<string, string>, string[]]>([
    [
      { OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_BSP_MAX_QUEUE_SIZE: '2', OTEL_BLRP_MAX_QUEUE_SIZE: '3' },
      [
        'OTEL_BSP_SCHEDULE_DELAY, OTEL_BSP_MAX_QUEUE_SIZE are ignored: exports of spans follow the traffic, and GATEWAY_OTEL__MAX_QUEUE_BYTES limits the spans that wait.',
      ],
    ],
    [
      { OTEL_BLRP_SCHEDULE_DELAY: '3', GATEWAY_OTEL__SIGNALS: 'logs' },
      [
        'OTEL_BLRP_SCHEDULE_DELAY is ignored: exports of log records follow what is logged, and each thread keeps up to 1 MiB of records that wait.',
      ],
    ],
    [
      { OTEL_SPAN_EVENT_COUNT_LIMIT: '4' },
      ['OTEL_SPAN_EVENT_COUNT_LIMIT is ignored: spans and log records have limits of their own.'],
    ],
    [{ OTEL_SPAN_EVENT_COUNT_LIMIT: '4', OTEL_TRACES_EXPORTER: 'none' }, []],
    [
      { OTEL_METRIC_EXPORT_TIMEOUT: '120000' },
      [
        'OTEL_METRIC_EXPORT_TIMEOUT="120000" is ignored: expected a whole number of milliseconds from 100 to 60000.',
      ],
    ],
    [
      { OTEL_BSP_EXPORT_TIMEOUT: '2000', OTEL_EXPORTER_OTLP_TIMEOUT: '3000' },
      [
        'OTEL_BSP_EXPORT_TIMEOUT="2000" is ignored: OTEL_EXPORTER_OTLP_TIMEOUT is the time that an export may take.',
      ],
    ],
    [{ OTEL_PROPAGATORS: 'baggage, tracecontext' }, []],
    [
      { OTEL_PROPAGATORS: 'b3,tracecontext' },
      [
        'OTEL_PROPAGATORS="b3,tracecontext" is ignored: traces continue by traceparent (tracecontext), and baggage is forwarded unchanged.',
      ],
    ],
    [{ OTEL_PROPAGATORS: 'b3', OTEL_TRACES_EXPORTER: 'none' }, []],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' }, []],
    [
      { OTEL_TRACES_SAMPLER: 'jaeger_remote', OTEL_TRACES_SAMPLER_ARG: 'endpoint=x' },
      [
        'OTEL_TRACES_SAMPLER="jaeger_remote" is ignored: GATEWAY_OTEL__SAMPLE_RATIO is the share of requests that are traced.',
        'OTEL_TRACES_SAMPLER_ARG is ignored: only the sampler traceidratio uses it.',
      ],
    ],
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote', GATEWAY_OTEL__SAMPLE_RATIO: '1' }, []],
  ])('%j are warned of while something is exported', (env, warnings) => {
    expect(readSettings({ ...env, GATEWAY_OTEL__ENDPOINT: 'http://c:1' }).warnings).toEqual(warnings);
    expect(readSettings(env).warnings).toEqual([]);
  });

  it('are named when they are wrong, and never with a secret', () => {
    const result = readSettings({ OTEL_EXPORTER_OTLP_TIMEOUT: 'soon', OTEL_EXPORTER_OTLP_HEADERS: 'hush' });
    const errors = 'errors' in result ? result.errors.join('\n') : '';
    expect(errors).toContain('OTEL_EXPORTER_OTLP_TIMEOUT="soon"');
    expect(errors).toContain('OTEL_EXPORTER_OTLP_HEADERS=(hidden)');
    expect(errors).not.toContain('hush');
    expect(readSettings({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).warnings).toEqual([
      'OTEL_EXPORTER_OTLP_PROTOCOL="grpc" is ignored: exports are by http/protobuf.',
    ]);
  });
});
