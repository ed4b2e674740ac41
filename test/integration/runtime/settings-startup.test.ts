/**
 * Contract part 1 "Runtime configuration" through the program: wrong values stop the start with all errors at once,
 * each naming variable, value and what was expected; unknown names are warned of; addresses that cannot be listened on
 * and files that cannot be read end it with one plain message.
 */
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { callPlain, expectData } from '../../support/management.ts';

/** Each test starts the program, some of them twice. */
const TLS = join(import.meta.dirname, '../../support/tls');
const SLOW = { timeout: 60_000 } as const;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-settings-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const inFolder = (): Record<string, string> => ({
  GATEWAY_DATABASE_URL: `sqlite://${folder}/headgate.db`,
  GATEWAY_PROXY__HOST: '127.0.0.1',
  GATEWAY_WORKERS: '1',
});

/** The lines of a failed start; anything but plain lines (a stack, a log) fails the test. */
async function failedStart(env: Record<string, string>, ...args: string[]): Promise<string[]> {
  const { code, output } = await runToEnd({ ...inFolder(), ...env }, args);
  expect(code, output).toBe(1);
  const lines = output.trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^headgate: \S/);
  return lines.map((line) => line.replace('headgate: ', ''));
}

type Wrong = readonly [name: string, value: string, expected: RegExp];

const INTEGER = /expected an integer, \d+ to \d+/;
const BOOLEAN = /expected true or false/;

describe(
  'spec 1: wrong values stop the start, all errors at once, naming variable, value and expectation',
  SLOW,
  () => {
    const ROUNDS: readonly (readonly Wrong[])[] = [
      [
        ['GATEWAY_AUTO_MIGRATE', 'yes', BOOLEAN],
        ['GATEWAY_DATABASE_URL', 'mysql://db/x', /sqlite:\/\/.* or postgres:\/\//],
        ['GATEWAY_SERVER__SWAGGER_ENABLED', 'on', BOOLEAN],
        ['GATEWAY_RATE_LIMIT_REQUESTS', 'many', INTEGER],
        ['GATEWAY_RATE_LIMIT_WINDOW_SECS', '1m', INTEGER],
        ['GATEWAY_PER_IP_RATE_LIMIT_ENABLED', 'enabled', BOOLEAN],
        ['GATEWAY_PER_IP_RATE_LIMIT_REQUESTS', '-1', INTEGER],
        ['GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS', '1.5', INTEGER],
        ['GATEWAY_TRUSTED_PROXY_IPS', '10.0.0.1, lb.example', /IP addresses or CIDR blocks/],
        ['GATEWAY_SERVER__HOST', 'http://localhost', /IP address .* or a host name/],
        ['GATEWAY_SERVER__PORT', '65536', INTEGER],
        ['GATEWAY_WORKERS', '0', INTEGER],
        ['GATEWAY_REDIS_URL', 'cache:6379', /redis:\/\//],
        ['GATEWAY_JWT__JWKS_URI', 'ftp://id.example/keys', /https:\/\//],
        ['GATEWAY_JWT__ALGORITHMS', 'RS256,none', /RS256/],
        ['GATEWAY_JWT__LEEWAY_SECS', '601', INTEGER],
        ['GATEWAY_PROXY__HOST', '0.0.0.0:8080', /IP address .* or a host name/],
        ['GATEWAY_PROXY__PORT', 'http', INTEGER],
        ['GATEWAY_PROXY__MAX_HEAD_BYTES', '32k', INTEGER],
        ['GATEWAY_PROXY__MAX_HEADERS', '0', INTEGER],
        ['GATEWAY_PROXY__MAX_TARGET_BYTES', '0', INTEGER],
        ['GATEWAY_PROXY__MAX_BODY_BYTES', 'unlimited', INTEGER],
        ['GATEWAY_PROXY__HEAD_TIMEOUT_MS', '0', INTEGER],
        ['GATEWAY_PROXY__KEEPALIVE_TIMEOUT_MS', '75s', INTEGER],
        ['GATEWAY_PROXY__CONNECT_TIMEOUT_MS', '0', INTEGER],
        ['GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS', '-1', INTEGER],
        ['GATEWAY_PROXY__IDLE_TIMEOUT_MS', '1e3', INTEGER],
        ['GATEWAY_PROXY__DRAIN_TIMEOUT_MS', '0x10', INTEGER],
        ['GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE', 'x', INTEGER],
        ['GATEWAY_LOG__LEVEL', 'verbose', /expected trace, debug, info/],
        ['GATEWAY_LOG__FORMAT', 'xml', /expected json or text/],
        ['GATEWAY_LOG__ACCESS', '2', /expected off, errors or all/],
        [
          'GATEWAY_LOG__ACCESS_FIELDS',
          'status,query',
          /expected names from request_id, trace_id, app, .*would_deny/,
        ],
      ],
      [
        ['GATEWAY_DATABASE_URL', 'headgate.db', /sqlite:\/\//],
        ['GATEWAY_RATE_LIMIT_REQUESTS', '0', INTEGER],
        ['GATEWAY_RATE_LIMIT_WINDOW_SECS', '-60', INTEGER],
        ['GATEWAY_PER_IP_RATE_LIMIT_REQUESTS', '1000000001', INTEGER],
        ['GATEWAY_TRUSTED_PROXY_IPS', '10.0.0.0/33', /IP addresses or CIDR blocks/],
        ['GATEWAY_SERVER__HOST', '[::1]', /without brackets/],
        ['GATEWAY_SERVER__PORT', '9090.0', INTEGER],
        ['GATEWAY_PROXY__PORT', '８０８０', INTEGER],
        ['GATEWAY_WORKERS', '257', INTEGER],
        ['GATEWAY_LOG__LEVEL', '30', /expected trace, debug, info/],
      ],
    ];

    it.each(ROUNDS)('round %#', async (...wrong) => {
      const lines = await failedStart(Object.fromEntries(wrong.map(([name, value]) => [name, value])));
      for (const [name, value, expected] of wrong) {
        const about = lines.filter((line) => line.startsWith(`Cannot use ${name}=`));
        expect(about, name).toHaveLength(1);
        const shown = name === 'GATEWAY_REDIS_URL' ? '(hidden)' : JSON.stringify(value);
        expect(about[0]).toContain(`Cannot use ${name}=${shown}: `);
        expect(about[0]).toMatch(expected);
      }
      expect(readdirSync(folder), 'nothing was made').toEqual([]);
    });

    it('variables that only make sense together, again all at once', async () => {
      const lines = await failedStart({
        GATEWAY_RATE_LIMIT_REQUESTS: '10',
        GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
        GATEWAY_PROXY__TLS__CERT_FILE: '/c.pem',
        GATEWAY_JWT__JWKS_URI: 'https://id.example/keys',
        GATEWAY_JWT__SECRET: 'an-example-of-a-secret-0123456789',
        GATEWAY_PROXY__PORT: '9090',
        GATEWAY_SERVER__PORT: '9090',
        GATEWAY_PROXY__MAX_HEAD_BYTES: '2048',
      });
      for (const expected of [
        /GATEWAY_RATE_LIMIT_REQUESTS\b.*expected GATEWAY_RATE_LIMIT_WINDOW_SECS/,
        /expected GATEWAY_PER_IP_RATE_LIMIT_REQUESTS to be set/,
        /expected GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS to be set/,
        /GATEWAY_PROXY__TLS__CERT_FILE\b.*expected GATEWAY_PROXY__TLS__KEY_FILE/,
        /GATEWAY_JWT__SECRET\b.* with GATEWAY_JWT__JWKS_URI/,
        /GATEWAY_PROXY__PORT="9090": expected a port other than GATEWAY_SERVER__PORT/,
        /GATEWAY_PROXY__MAX_TARGET_BYTES="8192": expected at most/,
      ]) {
        expect(
          lines.filter((line) => expected.test(line)),
          String(expected),
        ).toHaveLength(1);
      }
      expect(lines.join('\n')).not.toContain('an-example-of-a-secret');
    });

    it('stop the command migrate as well, and show no secret', async () => {
      const env = {
        GATEWAY_WORKERS: 'x',
        GATEWAY_ADMIN_TOKEN: 'two words of hunter2',
        GATEWAY_JWT__SECRET: 'hunter2',
        GATEWAY_DATABASE_URL: 'mysql://root:hunter2@db/x',
      };
      const lines = await failedStart(env, 'migrate');
      expect(lines).toHaveLength(4);
      expect(lines.join('\n')).not.toContain('hunter2');
    });
  },
);

describe('unknown names and empty values', SLOW, () => {
  it('an unknown GATEWAY_ name is warned of with the nearest known one; empty values count as unset', async () => {
    const gateway = await startGateway({
      env: {
        GATEWAY_SERVICE_HOST: '10.0.0.1',
        GATEWAY_PROXY_PORT: '1',
        GATEWAY_RATE_LIMIT_REQUEST: '5',
        NOT_GATEWAY_ANYTHING: '1',
        GATEWAY_RATE_LIMIT_REQUESTS: '',
        GATEWAY_AUTO_MIGRATE: '  ',
        GATEWAY_TRUSTED_PROXY_IPS: '',
        GATEWAY_DATABASE_URL: '',
        GATEWAY_PROXY__HOST: '',
        GATEWAY_WORKERS: ' 1 ',
      },
    });
    try {
      const warnings = gateway
        .output()
        .split('\n')
        .filter((line) => line.startsWith('headgate: '));
      expect(warnings).toHaveLength(3);
      expect(warnings.join('\n')).toMatch(/GATEWAY_PROXY_PORT .*did you mean GATEWAY_PROXY__PORT\?/);
      expect(warnings.join('\n')).toMatch(
        /GATEWAY_RATE_LIMIT_REQUEST .*did you mean GATEWAY_RATE_LIMIT_REQUESTS\?/,
      );
      expect(warnings.join('\n')).toMatch(/GATEWAY_SERVICE_HOST is not a setting/);
      expectData(await callPlain(gateway, {}, 'GET', '/health'));
      expect(readdirSync(gateway.folder), 'the default database').toEqual(['data']);
      expect(readdirSync(join(gateway.folder, 'data'))).toContain('headgate.db');
      const ready = gateway.logs().find((line) => line['msg'] === 'headgate is ready');
      expect(ready).toMatchObject({
        management: `127.0.0.1:${gateway.managementPort}`,
        proxy: `0.0.0.0:${gateway.proxyPort}`,
        workers: 1,
        database: 'sqlite',
      });
      expect((await gateway.api('GET', '//swagger-ui/')).status, 'off by default').toBe(404);
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
  });
});

describe('beside a running gateway, a start that would take a part of its place is refused', SLOW, () => {
  let running: TestGateway;
  let file: string;
  beforeAll(async () => {
    file = join(mkdtempSync(join(folder, 'served-')), 'headgate.db');
    running = await startGateway({ env: { GATEWAY_DATABASE_URL: `sqlite://${file}` } });
  });
  afterAll(() => running.stop());

  it('its traffic port, with any database: no file is created, and no request reaches the wrong gateway', async () => {
    const other = join(folder, 'beside', 'headgate.db');
    const { code, output } = await runToEnd({
      GATEWAY_DATABASE_URL: `sqlite://${other}`,
      GATEWAY_PROXY__HOST: '127.0.0.1',
      GATEWAY_PROXY__PORT: String(running.proxyPort),
    });
    expect(code, output).toBe(1);
    expect(output).toMatch(
      /^headgate: Cannot listen for traffic on 127\.0\.0\.1:\d+: another process listens there; headgate doctor says what to do, and GATEWAY_PROXY__PORT sets the port\n$/,
    );
    expect(existsSync(other)).toBe(false);
  });

  it('its SQLite database, on other ports and by another name: it would not see what is written', async () => {
    const link = join(dirname(file), 'linked.db');
    linkSync(file, link);
    for (const path of [file, link]) {
      const { code, output } = await runToEnd({
        GATEWAY_DATABASE_URL: `sqlite://${path}`,
        GATEWAY_PROXY__HOST: '127.0.0.1',
      });
      expect(code, output).toBe(1);
      expect(output).toBe(
        `headgate: Cannot use the database "${path}": the gateway with the process id ${running.process.pid} serves it; ` +
          'expected one gateway for a SQLite database (start --take-over replaces it; several can share a PostgreSQL database)\n',
      );
    }
    rmSync(link);
    expect((await running.api('GET', '/apps')).status).toBe(200);
  });

  it('its SQLite database, though its process cannot be seen, as in another container with the same volume', async () => {
    const pidFile = file.replace(/\.db$/, '.pid');
    renameSync(pidFile, `${pidFile}.away`);
    const { code, output } = await runToEnd({
      GATEWAY_DATABASE_URL: `sqlite://${file}`,
      GATEWAY_PROXY__HOST: '127.0.0.1',
    }).finally(() => renameSync(`${pidFile}.away`, pidFile));
    expect(code, output).toBe(1);
    expect(output).toMatch(
      /^headgate: Cannot use the database ".*\.db": a gateway serves it whose process cannot be/,
    );
    expect((await running.api('GET', '/apps')).status).toBe(200);
  });

  it('another database in the same folder, on other ports, is no such thing', async () => {
    const beside = await startGateway({
      env: { GATEWAY_DATABASE_URL: `sqlite://${join(dirname(file), 'other.db')}` },
    });
    expect(await beside.stop()).toBe(0);
  });
});

describe('an address that cannot be listened on ends the start with one plain message', SLOW, () => {
  let taken: net.Server;
  let port: string;
  beforeAll(async () => {
    taken = net.createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    port = String((taken.address() as net.AddressInfo).port);
  });
  afterAll(() => new Promise((done) => taken.close(done)));

  it.each([
    [
      'the management port in use',
      () => ({ GATEWAY_SERVER__PORT: port }),
      /^Cannot listen for management on 127\.0\.0\.1:\d+: another process listens there; .* GATEWAY_SERVER__PORT sets the port$/,
    ],
    [
      'the traffic port in use',
      () => ({ GATEWAY_PROXY__PORT: port }),
      /^Cannot listen for traffic on 127\.0\.0\.1:\d+: another process listens there; .* GATEWAY_PROXY__PORT sets the port$/,
    ],
    [
      'a management address of another machine',
      () => ({ GATEWAY_SERVER__HOST: '192.0.2.1' }),
      /^Cannot listen for management on 192\.0\.2\.1:0: this machine does not have that address; .* GATEWAY_SERVER__HOST sets the address$/,
    ],
    [
      'a Unix socket in a folder that does not exist',
      () => ({ GATEWAY_PROXY__UNIX_SOCKET: '/nowhere/x.sock' }),
      /^Cannot listen for traffic on \/nowhere\/x\.sock: there is no folder "\/nowhere"; .* GATEWAY_PROXY__UNIX_SOCKET sets the path$/,
    ],
    [
      'a traffic address of another machine',
      () => ({ GATEWAY_PROXY__HOST: '192.0.2.1' }),
      /^Cannot listen for traffic on 192\.0\.2\.1:0: this machine does not have that address; .* GATEWAY_PROXY__HOST sets the address$/,
    ],
  ])('%s', async (_what, env, message) => {
    const { code, output } = await runToEnd({
      ...inFolder(),
      ...env(),
    });
    expect(code, output).toBe(1);
    const lines = output
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('{'));
    expect(lines, 'nor is there a first admin token that only this start would show').toHaveLength(1);
    expect(lines[0]?.replace('headgate: ', '')).toMatch(message);
    expect(output, 'it never said that it was ready').not.toContain('headgate is ready');
  });
});

describe('a password with characters that a URL has a use for', SLOW, () => {
  it.each(['se/cret', 'se#cret', 'se?cret'])('%s ends the start with what to do', async (password) => {
    const [line, ...more] = await failedStart({
      GATEWAY_DATABASE_URL: `postgres://headgate:${password}@127.0.0.1:1/headgate`,
      GATEWAY_SECRET_KEY: '0'.repeat(64),
    });
    expect(line).toMatch(
      /^Cannot use GATEWAY_DATABASE_URL: it is not a URL; .* in the password percent-encoded/,
    );
    expect([line, ...more].join(), 'no password').not.toContain('cret@');
    expect(more).toEqual([]);
  });

  it('also while a gateway runs in the folder that the tests are started in', async () => {
    const [checkout, before] = [mkdtempSync(join(tmpdir(), 'headgate-checkout-')), process.cwd()];
    mkdirSync(join(checkout, 'data'));
    process.chdir(checkout);
    const gateway = await startGateway({
      cwd: checkout,
      env: { GATEWAY_DATABASE_URL: 'sqlite://data/headgate.db' },
    });
    try {
      const [line] = await failedStart({
        GATEWAY_DATABASE_URL: 'postgres://headgate:se/cret@127.0.0.1:1/headgate',
        GATEWAY_SECRET_KEY: '0'.repeat(64),
      });
      expect(line).toMatch(/^Cannot use GATEWAY_DATABASE_URL: it is not a URL/);
    } finally {
      process.chdir(before);
      await gateway.stop();
      rmSync(checkout, { recursive: true, force: true });
    }
  });

  it.each(['se/cret', 'se@cret', 'se%cret'])('%s of the store of limits, too', async (password) => {
    const [line] = await failedStart({ GATEWAY_REDIS_URL: `redis://:${password}@127.0.0.1:1` });
    expect(line).toMatch(/^Cannot use GATEWAY_REDIS_URL=\(hidden\): .* in the password percent-encoded/);
  });
});

describe('TLS files that cannot be used end the start with one plain message', SLOW, () => {
  it.each([
    [
      'a certificate that is not there',
      '/nowhere/cert.pem',
      /^Cannot read GATEWAY_PROXY__TLS__CERT_FILE "\/nowhere\/cert\.pem": it does not exist/,
    ],
    [
      'a file that is not a certificate',
      '',
      /^Cannot use the certificate and key of GATEWAY_PROXY__TLS together: /,
    ],
  ])('%s', async (_what, cert, message) => {
    const own = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
    try {
      writeFileSync(join(own, 'key.pem'), 'this is no key\n');
      const [line, ...more] = await failedStart({
        GATEWAY_ADMIN_TOKEN: 'a-token-for-this-test',
        GATEWAY_PROXY__TLS__CERT_FILE: cert || join(own, 'key.pem'),
        GATEWAY_PROXY__TLS__KEY_FILE: join(own, 'key.pem'),
      });
      expect(line).toMatch(message);
      expect(more).toEqual([]);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });

  const file = (name: string): string => join(TLS, `${name}.pem`);
  it.each([
    [
      'authorities of a collector that are not there',
      { CA_FILE: file('ca-none') },
      /^Cannot read GATEWAY_OTEL__CA_FILE, or GATEWAY_OTEL__TRACES_CA_FILE, ".*": it does not exist/,
    ],
    [
      'authorities of a collector that are no certificates',
      { CA_FILE: file('other-key') },
      /^Cannot use GATEWAY_OTEL__CA_FILE, or GATEWAY_OTEL__TRACES_CA_FILE, ".*": expected certificates in PEM/,
    ],
    [
      'a certificate for a collector that is not one',
      { CLIENT_CERT_FILE: file('other-key'), CLIENT_KEY_FILE: file('other-key') },
      /^Cannot use GATEWAY_OTEL__CLIENT_CERT_FILE, .*: it is not in PEM/,
    ],
    [
      'a certificate for a collector with the key of another',
      { CLIENT_CERT_FILE: file('other'), CLIENT_KEY_FILE: file('backend-key') },
      /^Cannot use GATEWAY_OTEL__CLIENT_KEY_FILE, .*: certificate and key do not belong together/,
    ],
  ])('%s', async (_what, files, message) => {
    const database = join(mkdtempSync(join(folder, 'unmade-')), 'data', 'headgate.db');
    const named = Object.entries(files).map(([name, path]) => [`GATEWAY_OTEL__${name}`, path]);
    const [line, ...more] = await failedStart({
      GATEWAY_DATABASE_URL: `sqlite://${database}`,
      GATEWAY_OTEL__ENDPOINT: 'https://127.0.0.1:1',
      ...Object.fromEntries(named),
    });
    expect(line).toMatch(message);
    // No first admin token, either, which only this start would have shown.
    expect(more).toEqual([]);
    expect(existsSync(dirname(database)), 'nothing was made').toBe(false);
  });
});

it('authorities of the ACME directory that cannot be used end the start before anything is made', async () => {
  const database = join(mkdtempSync(join(folder, 'unmade-')), 'data', 'headgate.db');
  const [line, ...more] = await failedStart({
    GATEWAY_DATABASE_URL: `sqlite://${database}`,
    GATEWAY_ACME__DIRECTORY: 'https://acme.test/directory',
    GATEWAY_ACME__ACCEPT_TERMS: 'true',
    GATEWAY_ACME__CA_FILE: join(TLS, 'other-key.pem'),
    GATEWAY_PROXY__TLS__PORT: '0',
  });
  expect(line).toMatch(/^Cannot read GATEWAY_ACME__CA_FILE ".*": expected certificates in PEM/);
  expect(more).toEqual([]);
  expect(existsSync(dirname(database))).toBe(false);
});

describe('the command line', SLOW, () => {
  it('knows its version and its commands', async () => {
    const version = await runToEnd({}, ['--version']);
    expect([version.code, version.output]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
    const help = await runToEnd({}, ['--help']);
    expect(help.code).toBe(0);
    expect(help.output).toMatch(/start/);
    expect(help.output).toMatch(/migrate/);
  });

  it('refuses what it does not know', async () => {
    for (const argument of ['--nonsense', 'destroy']) {
      const { code, output } = await runToEnd(inFolder(), [argument]);
      expect([argument, code]).toEqual([argument, 1]);
      expect(output).toContain(argument);
    }
  });
});
