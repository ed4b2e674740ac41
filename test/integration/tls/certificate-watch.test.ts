/**
 * What an operator learns of TLS on the traffic listener of the started program: certificates that have expired or soon
 * will, in the log, in /readyz and as a metric, while they are served on; and handshakes that fail, by reason.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { installedProgram } from '../../support/programs/install-program.ts';
import { metric } from '../../support/policies.ts';
import { until } from '../../support/measure/until.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const DAYS_LEFT = 10;

const folder = mkdtempSync(join(tmpdir(), 'headgate-tls-watch-'));
const file = (name: string): string => join(folder, name);
let openssl: string;
let gateway: TestGateway;

/** A new file, then a rename, for each of the two. */
function put(target: string, source: string): void {
  for (const suffix of ['', '-key']) {
    copyFileSync(join(TLS, `${source}${suffix}.pem`), file('next'));
    renameSync(file('next'), file(`${target}${suffix}.pem`));
  }
}

/** A handshake, which fails the test if it does. */
function handshake(servername: string): Promise<tls.PeerCertificate> {
  return new Promise((done, fail) => {
    const options = { port: gateway.proxyPort, host: '127.0.0.1', servername, rejectUnauthorized: false };
    const socket = tls.connect(options, () => {
      done(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', fail);
  });
}

/** Sends bytes in place of a handshake and resolves when the gateway has closed. */
function noise(text: string): Promise<void> {
  return new Promise((done) => {
    const socket = net.connect(gateway.proxyPort, '127.0.0.1', () => void socket.write(text, 'latin1'));
    socket.on('error', () => undefined);
    socket.on('close', () => done());
    socket.resume();
  });
}

/** Resolves when the handshake has failed. */
function failing(options: tls.ConnectionOptions): Promise<void> {
  return new Promise((done) => {
    const socket = tls.connect({ port: gateway.proxyPort, host: '127.0.0.1', ...options });
    socket.on('error', () => undefined);
    socket.on('close', () => done());
  });
}

const failures = (reason: string): Promise<number> =>
  metric(gateway, 'headgate_tls_handshake_failures_total', { reason });
const linesOf = (pattern: RegExp): Record<string, unknown>[] =>
  gateway.logs().filter(({ msg }) => pattern.test(String(msg)));
const reason = async (): Promise<string | null> => (await gateway.api('GET', '//readyz')).body.data.reason;

beforeAll(async () => {
  openssl = installedProgram('openssl', 'openssl');
  put('first', 'expired');
  const subject = ['-subj', '/CN=soon.test', '-addext', 'subjectAltName=DNS:soon.test'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', file('second-key.pem'), '-out', file('second.pem')];
  execFileSync(openssl, ['req', '-x509', ...key, ...files, '-days', String(DAYS_LEFT), ...subject], {
    stdio: 'pipe',
  });
  put('third', 'site');
  const list = (suffix: string): string =>
    ['first', 'second', 'third'].map((name) => file(`${name}${suffix}.pem`)).join(',');
  gateway = await startGateway({
    env: {
      GATEWAY_PROXY__TLS__CERT_FILE: list(''),
      GATEWAY_PROXY__TLS__KEY_FILE: list('-key'),
      GATEWAY_PROXY__HEAD_TIMEOUT_MS: '1000',
      GATEWAY_LOG__LEVEL: 'debug',
    },
  });
}, 120_000);
afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('handshakes that fail', () => {
  it.each([
    ['not_tls', 'ERR_SSL_HTTP_REQUEST', () => noise('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
    [
      'version',
      'ERR_SSL_UNSUPPORTED_PROTOCOL',
      () => failing({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }),
    ],
    [
      'cipher',
      'ERR_SSL_NO_SHARED_CIPHER',
      () => failing({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA' }),
    ],
    ['application_protocol', 'ERR_SSL_NO_APPLICATION_PROTOCOL', () => failing({ ALPNProtocols: ['spdy/3'] })],
    ['timeout', 'ERR_TLS_HANDSHAKE_TIMEOUT', () => noise('')],
    [
      'alert',
      /^ERR_SSL_.*UNKNOWN_CA$/,
      async () => {
        const to = ['-connect', `127.0.0.1:${gateway.proxyPort}`, '-servername', 'site.test'];
        const trust = ['-CAfile', join(TLS, 'ca.pem'), '-verify_return_error'];
        spawnSync(openssl, ['s_client', ...to, ...trust], { input: '', timeout: 10_000 });
      },
    ],
  ])('%s: counted, and logged with address and error', async (kind, code, fail) => {
    expect(await failures(kind)).toBe(0);
    await fail();
    const line = await until(() => linesOf(/TLS handshake failed/).find((each) => each['reason'] === kind));
    expect(line).toMatchObject({ level: 'warn', client_ip: '127.0.0.1', count: 1 });
    expect(line['error']).toEqual(typeof code === 'string' ? code : expect.stringMatching(code));
    expect(await failures(kind)).toBe(1);
  });

  it('of clients that send HTTP without TLS are answered with 400, which says so', async () => {
    const { status, body } = await sendRaw(gateway.proxyPort, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({
      code: 'bad_request',
      detail: 'This port serves TLS, and the request came without it: use https://',
    });
  });

  it('are logged at a bounded rate, and all of them counted', async () => {
    const before = await failures('not_tls');
    for (let count = 1; count <= 30; count++) await noise('PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n');
    expect(await failures('not_tls')).toBe(before + 30);
    // The first came before; what has come since is told every ten seconds.
    expect(
      linesOf(/TLS handshake failed/).filter((line) => line['reason'] === 'not_tls').length,
    ).toBeLessThan(5);
  });

  it('of clients that just close are no warning', async () => {
    await new Promise<void>((done) => {
      const socket = net.connect(gateway.proxyPort, '127.0.0.1', () => socket.end());
      socket.on('close', () => done());
      socket.resume();
    });
    const line = await until(() =>
      linesOf(/TLS handshake failed/).find((each) => each['reason'] === 'closed'),
    );
    expect(line['level']).toBe('debug');
    expect(await failures('closed')).toBeGreaterThan(0);
  });
});

describe('certificates', () => {
  it('that have expired or end soon are served on, and warned of once', async () => {
    expect((await handshake('localhost')).valid_to).toMatch(/2020/);
    expect((await handshake('soon.test')).subjectaltname).toBe('DNS:soon.test');
    const warnings = linesOf(/^a certificate of the traffic listener/);
    expect(warnings).toMatchObject(
      [
        { level: 'warn', certificate: 1, names: ['localhost', '127.0.0.1'], msg: /expired/ },
        { level: 'warn', certificate: 2, names: ['soon.test'], msg: /expires soon/ },
      ].map((line) => ({ ...line, msg: expect.stringMatching(line.msg) })),
    );
  });

  it('are a reason in /readyz, which stays 200', async () => {
    const { status, body } = await gateway.api('GET', '//readyz');
    expect([status, body.data.ready]).toEqual([200, true]);
    expect(body.data.reason).toMatch(
      /^Certificate 1 of the traffic listener \(localhost\) expired at 2020-.*\. Certificate 2 of the traffic listener \(soon\.test\) expires at /,
    );
  });

  it('have their end in the metrics', async () => {
    const endSecs = (name: string): Promise<number> =>
      metric(gateway, 'headgate_tls_certificate_expiry_seconds', { name });
    expect(await endSecs('localhost')).toBe(Date.parse('2020-02-01T00:00:00Z') / 1000);
    const leftDays = ((await endSecs('soon.test')) - Date.now() / 1000) / 86_400;
    expect(Math.abs(leftDays - DAYS_LEFT)).toBeLessThan(1);
  });

  it('are no reason any more once they are renewed', async () => {
    put('first', 'backend');
    put('second', 'site-renewed');
    await until(async () => ((await reason()) === null ? true : undefined));
    expect(linesOf(/^a certificate of the traffic listener/)).toHaveLength(2);
  });
});
