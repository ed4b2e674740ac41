/**
 * What goes wrong around client certificates: clients that send too much, connections that are older than a policy,
 * workers that die, balancers in front, nodes without a file, and what clients pay that have nothing to do with it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as https from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as tls from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { startOrigin } from '../../support/backends/origin.ts';
import { connectHttp2, request as requestHttp2 } from '../../support/clients/http2-client.ts';
import { proxyLine } from '../../support/clients/proxy-headers.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { explain } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { CertificateMaker, CLIENT_EXTENSIONS, type Made } from '../../support/programs/certificate-maker.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { createService } from '../../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const MTLS = { auth: { auth_type: 'mtls', mtls: { ca: 'partners' } } };

const maker = new CertificateMaker();
afterAll(() => maker.remove());
const root = maker.authority('root');
const web = maker.issue('web', root);
const closers = closeAfterEach();

interface Started {
  readonly gateway: TestGateway;
  readonly folder: string;
}

async function start(env: Readonly<Record<string, string>> = {}, withFile = true): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-faults-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  if (withFile) writeFileSync(join(folder, 'partners.crt'), root.cert);
  const gateway = await startGateway({
    env: {
      GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
      GATEWAY_PROXY__CLIENT_CAS: folder,
      ...env,
    },
  });
  closers.push(() => gateway.stop());
  return { gateway, folder };
}

async function service(gateway: TestGateway, app: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const origin = await startOrigin((_request, response) => response.end('ok'));
  closers.push(() => origin.close());
  await createService(gateway, 'shop', origin.port, { app });
}

/** `status code`, or the error of the connection. */
function ask(
  { proxyPort }: TestGateway,
  as?: Pick<Made, 'cert' | 'key'>,
  more: https.RequestOptions = {},
): Promise<string> {
  return new Promise((done) => {
    const sent = https.get(
      {
        port: proxyPort,
        host: '127.0.0.1',
        path: '/shop/v1/x',
        servername: 'shop.test',
        headers: { host: 'shop.test' },
        rejectUnauthorized: false,
        agent: false,
        ...(as && { cert: as.cert, key: as.key }),
        ...more,
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => {
          const code = /"code":"(\w+)"/.exec(body)?.[1] ?? '';
          done(`${response.statusCode} ${code}`.trim());
        });
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
  });
}

describe('clients that send too much', { timeout: 60_000 }, () => {
  it('a chain of 100 certificates, a certificate of 60 KB and a short key are refused, and others served', async () => {
    const { gateway } = await start({ GATEWAY_LOG__ACCESS: 'errors' });
    await service(gateway, { default_policy: MTLS });
    const many = { cert: web.cert + root.cert.repeat(99), key: web.key };
    const names = Array.from({ length: 2_500 }, (_, index) => `DNS:name-${index}.example.test`).join(',');
    const large = maker.issue('large', root, {
      extensions: [...CLIENT_EXTENSIONS, `subjectAltName=${names}`],
    });
    const short = maker.issue('short', root, { key: ['rsa:1024'] });
    const refused = [
      /^401 certificate_invalid$/,
      /^401 certificate_invalid$/,
      /^(?:401 certificate_invalid|E\w+)$/,
    ];
    for (const [index, as] of [many, large, short].entries())
      expect(await ask(gateway, as, { ciphers: 'DEFAULT@SECLEVEL=0' }), String(index)).toMatch(
        refused[index] as RegExp,
      );
    expect(await ask(gateway, web)).toBe('200');
    // The log has the reason.
    await until(() => gateway.output().includes('was sent with more than 10 other certificates'));
  });

  it('an incomplete handshake delays nothing, whatever its first bytes', async () => {
    const { gateway } = await start({ GATEWAY_PROXY__HEAD_TIMEOUT_MS: '500' });
    await service(gateway, { hosts: ['shop.test'], default_policy: MTLS });
    for (const bytes of [
      '',
      '\x16\x03\x01',
      'GET / HTTP/1.1\r\n\r\n',
      `\x16\x03\x01\x40\x00\x01\x00\xff\xff${'x'.repeat(2_000)}`,
    ]) {
      const socket = connectTcp(gateway.proxyPort, '127.0.0.1');
      socket.on('error', () => undefined).resume();
      const closed = new Promise((done) => socket.once('close', done));
      socket.write(Buffer.from(bytes, 'latin1'));
      expect(await ask(gateway, web)).toBe('200');
      await closed;
    }
  });
});

describe('connections that are older than a policy', { timeout: 60_000 }, () => {
  it('get 421 and end; the next one is asked for a certificate', async () => {
    const { gateway } = await start();
    await service(gateway);
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    closers.push(() => agent.destroy());
    const session = await connectHttp2(gateway.proxyPort, { rejectUnauthorized: false });
    const stream = async (): Promise<number> =>
      (await requestHttp2(session, { ':path': '/shop/v1/x', ':authority': 'shop.test' })).status;
    expect([await ask(gateway, web, { agent }), await stream()]).toEqual(['200', 200]);
    await gateway.must('PATCH', '/apps/shop', { default_policy: MTLS });
    expect(await ask(gateway, web, { agent })).toBe('421 misdirected_request');
    expect(await ask(gateway, web, { agent })).toBe('200');
    const closed = new Promise((done) => session.session.once('close', done));
    expect(await stream()).toBe(421);
    await closed;
    // Without the policy nothing is asked for, and sessions are resumed again.
    await gateway.must('PATCH', '/apps/shop', { default_policy: null });
    expect(await ask(gateway)).toBe('200');
  });
});

describe('workers and nodes', { timeout: 90_000 }, () => {
  it('workers that replace others, and files that change, decide alike', async () => {
    const { gateway, folder } = await start({ GATEWAY_WORKERS: '2', ...INSPECTABLE });
    await service(gateway, { default_policy: MTLS });
    await crashWorkers(gateway, (title) => /proxy-[12]$/.test(title));
    await until(async () => (await ask(gateway, web)) === '200', 20_000);
    writeFileSync(join(folder, 'partners.crl'), maker.revocationList(root, [web]));
    await until(async () => (await ask(gateway, web)) === '401 certificate_invalid');
    await crashWorkers(gateway, (title) => /proxy-[34]$/.test(title));
    const answers: string[] = [];
    await until(async () => {
      answers.push(await ask(gateway, web));
      return answers.length > 20 && answers.at(-1) === '401 certificate_invalid';
    }, 20_000);
    expect(answers).not.toContain('200');
  });

  it('a node without the file refuses, and says which file; with it, 40,000 revoked ones are read meanwhile', async () => {
    const { gateway, folder } = await start({}, false);
    await service(gateway, { default_policy: MTLS });
    expect(await ask(gateway, web)).toBe('401 certificate_invalid');
    const found = await explain(gateway, {
      method: 'GET',
      url: 'https://shop.test/shop/v1/x',
      client_certificate: web.cert,
    });
    expect(found.fix?.detail).toMatch(
      /^Correct the file partners\.crt in the folder of GATEWAY_PROXY__CLIENT_CAS/,
    );
    writeFileSync(join(folder, 'partners.crt'), root.cert);
    await until(async () => (await ask(gateway, web)) === '200');
    const count = 40_000;
    const index = Array.from(
      { length: count },
      (_, at) => `R\t300101000000Z\t260101000000Z\t${(0x10000000 + at).toString(16)}\tunknown\t/CN=x\n`,
    );
    writeFileSync(join(folder, 'partners.crl'), maker.revocationList(root, [web], 7, index.join('')));
    const answers = new Set<string>();
    await until(async () => {
      const answer = await ask(gateway, web);
      answers.add(answer);
      return answer === '401 certificate_invalid';
    });
    // Requests go on while the list is read.
    expect([...answers].filter((answer) => answer !== '200')).toEqual(['401 certificate_invalid']);
  });
});

describe('behind a balancer', { timeout: 60_000 }, () => {
  it('the name is read after the PROXY header', async () => {
    const { gateway } = await start({ GATEWAY_PROXY__PROXY_PROTOCOL_FROM: '127.0.0.1' });
    await service(gateway, { hosts: ['shop.test'], default_policy: MTLS });
    const behind = (isSplit: boolean): Promise<string> =>
      new Promise((done, fail) => {
        const socket = connectTcp(gateway.proxyPort, '127.0.0.1', () => {
          socket.write(proxyLine('192.0.2.9'));
          const begin = (): void => {
            const secure = tls.connect({
              socket,
              servername: 'shop.test',
              rejectUnauthorized: false,
              cert: web.cert,
              key: web.key,
            });
            secure.on('error', fail);
            secure.on('data', (bytes: Buffer) => {
              done(bytes.toString().slice(9, 12));
              secure.destroy();
            });
            secure.write('GET /shop/v1/x HTTP/1.1\r\nHost: shop.test\r\n\r\n');
          };
          if (isSplit) setTimeout(begin, 50);
          else begin();
        });
        socket.on('error', fail);
      });
    expect([await behind(true), await behind(false)]).toEqual(['200', '200']);
  });
});

describe('clients of other hosts', { timeout: 90_000 }, () => {
  const HANDSHAKES = 50;

  /** Milliseconds for so many full handshakes, one after the other, to a host that asks for no certificate. */
  async function handshakes({ proxyPort }: TestGateway): Promise<number> {
    const started = performance.now();
    for (let count = 0; count < HANDSHAKES; count++) {
      await new Promise<void>((done, fail) => {
        const socket = tls.connect(
          { port: proxyPort, host: '127.0.0.1', servername: 'open.test', rejectUnauthorized: false },
          () => {
            socket.destroy();
            done();
          },
        );
        socket.on('error', fail);
      });
    }
    return performance.now() - started;
  }

  it('pay next to nothing for it', async () => {
    const { gateway } = await start();
    await service(gateway, { hosts: ['shop.test'] });
    const measure = async (policy: object | null): Promise<number> => {
      await gateway.must('PATCH', '/apps/shop', { default_policy: policy });
      return handshakes(gateway);
    };
    let [plainMs, besideMs] = [Infinity, Infinity];
    // Other programs take time away, and none gives any: the shortest of several by turns, and of more where they do.
    for (let round = 0; round < 4 || (round < 32 && besideMs / plainMs >= 1.3); round++) {
      plainMs = Math.min(plainMs, await measure(null));
      besideMs = Math.min(besideMs, await measure(MTLS));
    }
    expect(besideMs / plainMs).toBeLessThan(1.3);
  });
});
