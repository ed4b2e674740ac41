/**
 * TLS on the management listener of the real program: the certificate of the settings, renewed while it serves, checked
 * at the start, and the warning where tokens could be read on the network.
 */
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import * as https from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renegotiate } from '../../support/clients/handshake.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const pem = (name: string): string => readFileSync(join(TLS, `${name}.pem`), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'headgate-management-tls-'));
const file = (name: string): string => join(folder, name);

/** A new file, then a rename, for each of the two. */
function put(source: string): void {
  for (const suffix of ['', '-key']) {
    copyFileSync(join(TLS, `${source}${suffix}.pem`), file('next'));
    renameSync(file('next'), file(`own${suffix}.pem`));
  }
}

describe('the management API with a certificate', { timeout: 60_000 }, () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    put('backend');
    gateway = await startGateway({
      env: {
        GATEWAY_SERVER__TLS__CERT_FILE: file('own.pem'),
        GATEWAY_SERVER__TLS__KEY_FILE: file('own-key.pem'),
      },
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A call whose client trusts only the authority `ca`. */
  function call(path: string, ca: string, agent?: https.Agent): Promise<{ status: number; body: string }> {
    return new Promise((done, fail) => {
      const options: https.RequestOptions = {
        host: '127.0.0.1',
        port: gateway.managementPort,
        path,
        ca,
        servername: 'localhost',
        headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
        // Without an agent, each call has a connection of its own.
        agent: agent ?? false,
      };
      const request = https.get(options, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => done({ status: response.statusCode ?? 0, body }));
      });
      request.on('error', fail);
    });
  }

  function serial(): Promise<string> {
    return new Promise((done, fail) => {
      const options = { port: gateway.managementPort, host: '127.0.0.1', rejectUnauthorized: false };
      const socket = tls.connect(options, () => {
        done(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
      socket.on('error', fail);
    });
  }

  it('answers clients that trust its authority, and no others', async () => {
    expect(await call('/api/v1/apps', pem('ca'))).toMatchObject({ status: 200 });
    await expect(call('/api/v1/apps', pem('site'))).rejects.toThrow(/certificate/);
  });

  it('has no further handshake within a connection', async () => {
    expect(await renegotiate(gateway.managementPort)).toBe('ERR_SSL_NO_RENEGOTIATION');
  });

  it.each(['GET', 'POST'])(
    'serves no plain HTTP: a %s without TLS gets 400, which says so',
    async (method) => {
      const call = `${method} /api/v1/health HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`;
      const { status, headers, body } = await sendRaw(gateway.managementPort, call);
      expect(status).toBe(400);
      expect(headers).toMatchObject({ 'content-type': 'application/problem+json', connection: 'close' });
      expect(JSON.parse(body)).toMatchObject({
        code: 'bad_request',
        detail: 'This port serves TLS, and the request came without it: use https://',
      });
    },
  );

  it('is named by headgate health when the address has http in place of https', async () => {
    const args = ['health', '--server', `http://127.0.0.1:${gateway.managementPort}`];
    expect(await runToEnd({}, args)).toMatchObject({
      code: 1,
      output: 'headgate: This port serves TLS, and the request came without it: use https://\n',
    });
  });

  it('shows a renewed certificate to new clients while open connections go on', async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    expect(await call('/api/v1/health', pem('ca'), agent)).toMatchObject({ status: 200 });
    const before = await serial();
    put('site-renewed');
    await until(async () => (await serial()) !== before);
    expect(await call('/api/v1/health', pem('ca'), agent)).toMatchObject({ status: 200 });
    agent.destroy();
    expect(await call('/api/v1/health', pem('ca')).catch(String)).toMatch(/certificate/);
    expect(await renegotiate(gateway.managementPort)).toBe('ERR_SSL_NO_RENEGOTIATION');
    const log = (): unknown[] => gateway.logs().map(({ msg }) => msg);
    await expect.poll(log).toContain('certificates of the management listener were reloaded');
    expect(log()).toContain('certificates of the management listener are in use');
  });

  it('keeps serving with a certificate that has expired, and says so', async () => {
    put('expired');
    await until(
      async () => (await call('/readyz', pem('expired')).catch(({ code }) => code)) === 'CERT_HAS_EXPIRED',
    );
    const agent = new https.Agent({ rejectUnauthorized: false });
    const { status, body } = await call('/readyz', pem('ca'), agent);
    expect(status).toBe(200);
    expect(body).toContain('Certificate 1 of the management listener');
    const metrics = (await call('/metrics', pem('ca'), agent)).body;
    expect(metrics).toMatch(/^headgate_tls_certificate_expiry_seconds\{listener="management",/m);
    agent.destroy();
  });
});

describe('a start', { timeout: 60_000 }, () => {
  const run = (env: Record<string, string>): Promise<{ code: number | null; output: string }> =>
    runToEnd({ GATEWAY_DATABASE_URL: 'sqlite://:memory:', GATEWAY_PROXY__PORT: '0', ...env }, []);

  it('with a key of another certificate stops with both files', async () => {
    const { code, output } = await run({
      GATEWAY_SERVER__TLS__CERT_FILE: join(TLS, 'site.pem'),
      GATEWAY_SERVER__TLS__KEY_FILE: join(TLS, 'other-key.pem'),
    });
    expect(code).toBe(1);
    expect(output).toMatch(
      /GATEWAY_SERVER__TLS together: ".*site\.pem" and ".*other-key\.pem": the key does not belong to/,
    );
  });

  it.each([
    ['0.0.0.0', {}, true],
    ['127.0.0.1', {}, false],
    [
      '0.0.0.0',
      {
        GATEWAY_SERVER__TLS__CERT_FILE: join(TLS, 'site.pem'),
        GATEWAY_SERVER__TLS__KEY_FILE: join(TLS, 'site-key.pem'),
      },
      false,
    ],
  ])('on %s with %j warns of plain HTTP: %s', async (host, files, warns) => {
    const gateway = await startGateway({ env: { GATEWAY_SERVER__HOST: host, ...files } });
    await gateway.stop();
    const warnings = gateway.logs().filter(({ msg }) => String(msg).includes('has no TLS'));
    expect(warnings).toHaveLength(warns ? 1 : 0);
  });
});
