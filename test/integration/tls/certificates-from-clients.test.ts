/**
 * Callers that are known by their client certificate (`auth_type: mtls`): the started program with certificates from
 * files that it watches, a port with TLS and one without.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import * as https from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as tls from 'node:tls';
import type { SecureVersion } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { renegotiate } from '../../support/clients/handshake.ts';
import { CA, connectHttp2, request as requestHttp2 } from '../../support/clients/http2-client.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { explain, stageOf } from '../../support/explain.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headgate } from '../../../src/cli/cli.fixture.ts';
import { until } from '../../support/measure/until.ts';
import {
  CA_EXTENSIONS,
  CertificateMaker,
  CLIENT_EXTENSIONS,
  type Made,
} from '../../support/programs/certificate-maker.ts';
import { createService, type Served } from '../../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const SPIFFE = 'spiffe://example.test/ns';

const maker = new CertificateMaker();
const folder = mkdtempSync(join(tmpdir(), 'headgate-client-cas-'));
const root = maker.authority('partners-root');
const middle = maker.issue('partners-middle', root, { extensions: CA_EXTENSIONS });
const banks = maker.authority('banks-root');
const client = (name: string, by: Made, san: string, days = 30): Made =>
  maker.issue(name, by, { extensions: [...CLIENT_EXTENSIONS, `subjectAltName=${san}`], days });
const billing = client('billing', root, `URI:${SPIFFE}/prod/sa/billing`);
const reports = client('reports', middle, `URI:${SPIFFE}/test/sa/reports`);
const bank = client('bank', banks, 'DNS:bank.example');
const stranger = client('stranger', root, 'URI:spiffe://elsewhere.test/x');
const expired = client('expired', root, `URI:${SPIFFE}/prod/sa/old`, -1);

let origin: Origin;
let gateway: TestGateway;
let tlsPort: number;

/** A new file, then a rename. */
function put(name: string, text: string): void {
  writeFileSync(join(folder, 'next'), text);
  renameSync(join(folder, 'next'), join(folder, name));
}

beforeAll(async () => {
  put('partners.crt', root.cert);
  put('banks.crt', banks.cert);
  origin = await startOrigin((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.headers));
  });
  gateway = await startGateway({
    env: {
      GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
      GATEWAY_PROXY__TLS__PORT: '0',
      GATEWAY_PROXY__CLIENT_CAS: folder,
    },
  });
  const ready = gateway.logs().find(({ msg }) => msg === 'headgate is ready');
  tlsPort = Number(String(ready?.['proxy_tls']).split(':')[1]);
  const callers = [
    { from: 'san_uri', value: `${SPIFFE}/prod/sa/billing`, name: 'billing', scopes: ['invoices:read'] },
    { from: 'san_uri', value: `${SPIFFE}/*/sa/reports` },
    { from: 'san_uri', value: `${SPIFFE}/prod/sa/old` },
  ];
  const policy = { auth: { auth_type: 'mtls', mtls: { ca: 'partners', callers } } };
  await createService(gateway, 'shop', origin.port, {
    app: { hosts: ['shop.test'], default_policy: policy },
  });
  const ofBanks = { auth: { auth_type: 'mtls', mtls: { ca: 'banks', forward: 'client_cert' } } };
  await createService(gateway, 'pay', origin.port, { app: { hosts: ['pay.test'], default_policy: ofBanks } });
  await createService(gateway, 'open', origin.port);
});
afterAll(async () => {
  await gateway?.stop();
  await origin?.close();
  rmSync(folder, { recursive: true, force: true });
  maker.remove();
});

interface Call {
  readonly host?: string;
  readonly serverName?: string;
  readonly path?: string;
  readonly as?: Made;
  /** Further certificates of the client. */
  readonly with?: readonly Made[];
  readonly version?: SecureVersion;
  readonly headers?: Record<string, string>;
  readonly agent?: https.Agent;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  // oxlint-disable-next-line typescript/no-explicit-any -- looked into freely
  readonly body: any;
}

function get(call: Call): Promise<Reply> {
  const { host = 'shop.test', serverName = host, path = '/shop/v1/x', as, with: chain = [], version } = call;
  return new Promise((done, fail) => {
    const sent = https.get(
      {
        port: tlsPort,
        host: '127.0.0.1',
        path,
        ca: CA,
        servername: serverName,
        checkServerIdentity: () => undefined,
        headers: { host, ...call.headers },
        agent: call.agent ?? false,
        ...(as && { cert: as.cert + chain.map(({ cert }) => cert).join(''), key: as.key }),
        ...(version && { minVersion: version, maxVersion: version }),
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          done({ status, headers, body: body === '' ? undefined : JSON.parse(body) });
        });
      },
    );
    sent.on('error', fail);
  });
}

/** What openssl prints. */
function openssl(args: readonly string[], input: string): Promise<string> {
  return new Promise((done) => {
    const child = execFile('openssl', args, (_error, stdout) => done(stdout));
    child.stdin?.on('error', () => undefined).end(input);
  });
}

const codeOf = ({ status, body }: Reply): string => `${status} ${body.code}`;

describe('a certificate of a client', { timeout: 60_000 }, () => {
  it('names the caller and what it holds, in both versions of TLS and both of HTTP', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const { status, body } = await get({ as: billing, version });
      expect([status, body['x-headgate-subject'], body['x-headgate-scopes']]).toEqual([
        200,
        'billing',
        'invoices:read',
      ]);
      expect(body['client-cert']).toBeUndefined();
    }
    const session = await connectHttp2(tlsPort, {
      servername: 'shop.test',
      checkServerIdentity: () => undefined,
      cert: billing.cert,
      key: billing.key,
    });
    const answer = await requestHttp2(session, { ':path': '/shop/v1/x', ':authority': 'shop.test' });
    await session.close();
    expect([answer.status, JSON.parse(answer.body.toString())['x-headgate-subject']]).toEqual([
      200,
      'billing',
    ]);
  });

  it('is named by the text that a star matches, with an intermediate CA that the client sends', async () => {
    const { status, body } = await get({ as: reports, with: [middle] });
    expect([status, body['x-headgate-subject']]).toEqual([200, `${SPIFFE}/test/sa/reports`]);
  });

  it('is forwarded where the policy says so, and what a client sends in its place never', async () => {
    const forged = {
      'client-cert': ':Zm9yZ2Vk:',
      'x-forwarded-client-cert': 'Hash=f',
      client_cert: 'x',
      'client-cert-chain': 'y',
    };
    const { status, body } = await get({ host: 'pay.test', path: '/pay/v1/x', as: bank, headers: forged });
    expect([status, body['x-headgate-subject']]).toEqual([200, 'CN=bank']);
    expect(Buffer.from(String(body['client-cert']).slice(1, -1), 'base64').toString('base64')).toBe(
      bank.cert.replace(/-----[^-]+-----|\s/g, ''),
    );
    expect([body['x-forwarded-client-cert'], body['client_cert'], body['client-cert-chain']]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const open = await get({ host: 'open.test', path: '/open/v1/x', headers: forged });
    expect([open.status, Object.keys(open.body).filter((name) => name.includes('cert'))]).toEqual([200, []]);
  });

  it('is required: 401 with its own code and no details', async () => {
    const missing = await get({});
    expect(codeOf(missing)).toBe('401 certificate_missing');
    expect(missing.headers['www-authenticate']).toBe('ClientCertificate realm="shop"');
    for (const as of [bank, stranger, expired]) {
      const refused = await get({ as });
      expect(codeOf(refused)).toBe('401 certificate_invalid');
      expect(refused.body.detail).toBe('The client certificate is not accepted');
    }
    // Without the intermediate CA.
    expect(codeOf(await get({ as: reports }))).toBe('401 certificate_invalid');
    const plain = await sendRaw(
      gateway.proxyPort,
      'GET /shop/v1/x HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n',
    );
    expect([plain.status, plain.body]).toEqual([401, expect.stringContaining('certificate_missing')]);
  });

  it('is not asked for under names whose routes need none', async () => {
    const isAsked = async (name: string, version: string): Promise<boolean> => {
      const args = ['s_client', '-connect', `127.0.0.1:${tlsPort}`, '-servername', name, version];
      return (await openssl(args, '')).includes('Requested Signature Algorithms');
    };
    for (const version of ['-tls1_2', '-tls1_3']) {
      const asked = ['shop.test', 'pay.test', 'open.test'].map((name) => isAsked(name, version));
      expect(await Promise.all(asked)).toEqual([true, true, false]);
    }
  });
});

describe('in shadow', { timeout: 60_000 }, () => {
  it('clients are asked for a certificate, and none is refused: those that would be are noted', async () => {
    const policy = { auth: { auth_type: 'mtls', mtls: { ca: 'partners' } }, shadow: ['auth'] };
    await createService(gateway, 'trial', origin.port, {
      app: { hosts: ['trial.test'], default_policy: policy },
    });
    const call = async (more: Call): Promise<[number, unknown, unknown]> => {
      const reply = await get({ host: 'trial.test', path: '/trial/v1/x', ...more });
      const line = await until(() =>
        gateway
          .logs()
          .find((each) => each['msg'] === 'access' && each['request_id'] === reply.headers['x-request-id']),
      );
      return [reply.status, reply.body['x-headgate-subject'], line['would_deny']];
    };
    expect(await call({})).toEqual([200, undefined, ['auth']]);
    expect(await call({ as: expired })).toEqual([200, undefined, ['auth']]);
    expect(await call({ as: bank })).toEqual([200, undefined, ['auth']]);
    // A connection for another host is no reason to refuse either.
    expect(await call({ serverName: 'open.test' })).toEqual([200, undefined, ['auth']]);
    expect(await call({ as: billing })).toEqual([200, 'CN=billing', undefined]);
    await until(async () => {
      const report = await gateway.must('GET', '/apps/trial/shadow-report');
      return JSON.stringify(report).includes('"part":"auth"');
    });
  });
});

describe('one connection for several hosts', { timeout: 60_000 }, () => {
  it('421 where the server name of the connection stands for other certificates, and the connection ends', async () => {
    for (const [serverName, as] of [
      ['open.test', undefined],
      ['pay.test', billing],
    ] as const) {
      const crossed = await get({ serverName, ...(as && { as }) });
      expect(codeOf(crossed), serverName).toBe('421 misdirected_request');
      expect(crossed.headers.connection).toBe('close');
    }
    // The route without a policy needs no connection of its own.
    expect((await get({ serverName: 'shop.test', host: 'open.test', path: '/open/v1/x' })).status).toBe(200);
  });

  it('421 on a stream of HTTP/2, while others of the connection go on', async () => {
    const session = await connectHttp2(tlsPort, {
      servername: 'pay.test',
      checkServerIdentity: () => undefined,
      cert: bank.cert,
      key: bank.key,
    });
    const of = async (host: string, path: string): Promise<number> =>
      (await requestHttp2(session, { ':path': path, ':authority': host })).status;
    expect(await of('pay.test', '/pay/v1/x')).toBe(200);
    expect(await of('shop.test', '/shop/v1/x')).toBe(421);
    expect(await of('pay.test', '/pay/v1/x')).toBe(200);
    await session.close();
  });
});

describe('sessions of TLS', { timeout: 60_000 }, () => {
  /** One connection with one answer; the session that it leaves. */
  function connect(
    servername: string,
    version: SecureVersion,
    as?: Made,
    session?: Buffer,
  ): Promise<{ readonly isReused: boolean; readonly session: Buffer | undefined }> {
    return new Promise((done, fail) => {
      const socket = tls.connect({
        port: tlsPort,
        host: '127.0.0.1',
        servername,
        rejectUnauthorized: false,
        minVersion: version,
        maxVersion: version,
        ...(as && { cert: as.cert, key: as.key }),
        ...(session && { session }),
      });
      let latest = session;
      socket.on('session', (next: Buffer) => (latest = next));
      socket.on('error', fail);
      socket.on('data', () => {
        done({ isReused: socket.isSessionReused(), session: latest });
        socket.destroy();
      });
      socket.write(`GET / HTTP/1.1\r\nHost: ${servername}\r\n\r\n`);
    });
  }

  it('are not resumed where a certificate is asked for, and resumed elsewhere', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const first = await connect('shop.test', version, billing);
      expect((await connect('shop.test', version, billing, first.session)).isReused, version).toBe(false);
      const open = await connect('open.test', version);
      expect((await connect('open.test', version, undefined, open.session)).isReused, version).toBe(true);
      expect((await connect('shop.test', version, undefined, open.session)).isReused, version).toBe(false);
    }
  });

  it('have one handshake, so that no other certificate comes within a connection', async () => {
    const options = { servername: 'shop.test', cert: billing.cert, key: billing.key };
    expect(await renegotiate(tlsPort, options)).toBe('ERR_SSL_NO_RENEGOTIATION');
  });

  it('carry no identity to another name or from one without: openssl with a kept session', async () => {
    const session = join(maker.folder, 'session.pem');
    const ask = (name: string, host: string, path: string, ...more: string[]): Promise<string> =>
      openssl(
        ['s_client', '-connect', `127.0.0.1:${tlsPort}`, '-servername', name, '-ign_eof', ...more],
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
    const own = ['-cert', join(maker.folder, 'billing.pem'), '-key', join(maker.folder, 'billing.key')];
    for (const version of ['-tls1_2', '-tls1_3']) {
      expect(
        await ask('shop.test', 'shop.test', '/shop/v1/x', version, ...own, '-sess_out', session),
      ).toContain('200 OK');
      // Without the certificate: whatever the session remembers of it does not count.
      expect(await ask('shop.test', 'shop.test', '/shop/v1/x', version, '-sess_in', session)).toContain(
        'certificate_missing',
      );
      expect(await ask('open.test', 'shop.test', '/shop/v1/x', version, '-sess_in', session)).toContain(
        'misdirected_request',
      );
      // A session of a name that asks for none.
      await ask('open.test', 'open.test', '/open/v1/x', version, '-sess_out', session);
      expect(await ask('shop.test', 'shop.test', '/shop/v1/x', version, '-sess_in', session)).toContain(
        'certificate_missing',
      );
    }
  });
});

describe('files', { timeout: 60_000 }, () => {
  /** Answers on one open connection. */
  function connection(as: Made): { call(): Promise<string>; end(): void } {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    return {
      call: async () => {
        const reply = await get({ as, agent });
        return reply.status === 200 ? '200' : codeOf(reply);
      },
      end: () => agent.destroy(),
    };
  }

  it('a certificate that is revoked is refused on the next request of an open connection', async () => {
    const own = connection(billing);
    expect(await own.call()).toBe('200');
    put('partners.crl', maker.revocationList(root, []));
    expect(await own.call()).toBe('200');
    put('partners.crl', maker.revocationList(root, [billing]));
    await until(async () => (await own.call()) === '401 certificate_invalid');
    put('partners.crl', 'junk');
    await until(() => gateway.output().includes('cannot use a file of trusted certificates'));
    expect(await own.call()).toBe('401 certificate_invalid');
    rmSync(join(folder, 'partners.crl'));
    await until(async () =>
      JSON.stringify(await gateway.must('GET', '/problems')).includes(
        'Cannot use the file partners.crl: it is gone. What was read of it before stays in use',
      ),
    );
    expect(await own.call()).toBe('401 certificate_invalid');
    const { stages } = await explain(gateway, {
      method: 'GET',
      url: 'https://shop.test/shop/v1/x',
      client_certificate: billing.cert,
    });
    expect(stages.find(({ stage }) => stage === 'auth')?.detail).toMatch(/is revoked/);
    // With a list of one CA, those of the others are needed too.
    const ofOther = (): Promise<Reply> => get({ as: reports, with: [middle] });
    put('partners.crl', maker.revocationList(root, []));
    await until(async () => (await own.call()) === '200');
    expect(codeOf(await ofOther())).toBe('401 certificate_invalid');
    put('partners.crl', maker.revocationList(root, []) + maker.revocationList(middle, []));
    await until(async () => (await ofOther()).status === 200);
    own.end();
    // What the gateway trusts is part of its state.
    const [{ state }] = await gateway.must('GET', '/state');
    const ofClients = state.certificates.filter(({ listener }: Served) => listener === 'clients');
    expect(ofClients).toMatchObject([
      { names: ['banks'], state: 'valid', crl_update_due_at: null },
      { names: ['partners'], state: 'valid', crl_update_due_at: expect.stringMatching(/^20..-/) },
    ]);
    const shown = await headgate({ url: gateway.base }, ['state'], { HEADGATE_TOKEN: ADMIN_TOKEN });
    expect(shown.out).toMatch(/^clients +valid .*partners/m);
  });

  it('trusted certificates are replaced, junk changes nothing, and without any all are refused', async () => {
    const own = connection(billing);
    const refusal = '401 certificate_invalid';
    expect(await own.call()).toBe('200');
    put('partners.crt', 'junk');
    await until(() => gateway.output().includes('it has no certificate'));
    expect(await own.call()).toBe('200');
    put('partners.crt', banks.cert);
    await until(async () => (await own.call()) === refusal);
    rmSync(join(folder, 'partners.crt'));
    await until(
      async () =>
        !(await gateway.must('GET', '/state'))[0].state.certificates.some((each: { names: string[] }) =>
          each.names.includes('partners'),
        ),
    );
    expect(await own.call()).toBe(refusal);
    put('partners.crt', root.cert);
    await until(async () => (await own.call()) === '200');
    own.end();
  });
});

describe('explain', { timeout: 60_000 }, () => {
  it('says which certificate, what it leads to, and which rule has named the caller', async () => {
    const input = { method: 'GET', url: 'https://shop.test/shop/v1/x' };
    const found = await explain(gateway, { ...input, client_certificate: reports.cert + middle.cert });
    expect(found.caller).toMatchObject({ kind: 'mtls', name: `${SPIFFE}/test/sa/reports` });
    expect(found.certificate).toMatchObject({
      subject: 'CN=reports',
      ca: 'partners',
      trusted: 'CN=partners-root',
      rule: 1,
    });
    const file = join(maker.folder, 'chain.pem');
    writeFileSync(file, reports.cert + middle.cert);
    const args = ['explain', 'GET', input.url, '--client-certificate', file];
    const shown = await headgate({ url: gateway.base }, args, { HEADGATE_TOKEN: ADMIN_TOKEN });
    expect(shown.out).toMatch(/certificate +CN=reports \(partners: by CN=partners-root, callers\[1\]\)/);
    const plain = await explain(gateway, { ...input, url: input.url.replace('https', 'http') });
    expect(plain.code).toBe('certificate_missing');
    const without = await explain(gateway, input);
    expect([without.code, without.fix?.action]).toEqual(['certificate_missing', 'send_credentials']);
    const refused = await explain(gateway, { ...input, client_certificate: expired.cert });
    expect(stageOf(refused, 'auth')).toMatchObject({
      verdict: 'denied',
      detail: 'The client certificate "CN=expired" has expired (trusted certificates "partners")',
    });
    const odd = await explain(gateway, { ...input, client_certificate: stranger.cert });
    expect([odd.certificate?.trusted, odd.fix?.detail]).toEqual([
      null,
      expect.stringContaining('matches none of the callers'),
    ]);
  });
});
