/**
 * Mutual TLS to backends: the started program presents the client certificate that a revision names, from a folder that
 * it watches, and goes on only with a backend whose key is pinned.
 */
import { X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SecureVersion, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pinOf } from '../../../src/proxy/upstream/tls/backend-tls.ts';
import { installedProgram } from '../../support/programs/install-program.ts';
import { CA } from '../../support/clients/http2-client.ts';
import { pem } from '../../support/data/pem.ts';
import { runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { createService, request, revisionPath } from '../../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const pinOfFile = (name: string): string => pinOf(new X509Certificate(pem(name)).raw);

const folder = mkdtempSync(join(tmpdir(), 'headgate-client-certificates-'));
let gateway: TestGateway;
const servers: https.Server[] = [];

/** A new file, then a rename: the gateway reads the folder at any time. */
function replace(name: string, text: string): void {
  writeFileSync(join(folder, 'next'), text);
  renameSync(join(folder, 'next'), join(folder, name));
}

function put(name: string, source: string): void {
  replace(`${name}.key`, pem(`${source}-key.pem`));
  replace(`${name}.crt`, pem(`${source}.pem`));
}

/** Answers only clients with one of three certificates, with its serial number. */
async function demandingBackend(maxVersion: SecureVersion): Promise<number> {
  const server = https.createServer(
    {
      cert: pem('backend.pem'),
      key: pem('backend-key.pem'),
      ca: ['site.pem', 'site-renewed.pem', 'wildcard.pem'].map(pem),
      requestCert: true,
      rejectUnauthorized: true,
      maxVersion,
    },
    (incoming, response) =>
      response.end((incoming.socket as TLSSocket).getPeerX509Certificate()?.serialNumber ?? ''),
  );
  server.on('tlsClientError', () => undefined);
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

const serialOf = (name: string): string => new X509Certificate(pem(name)).serialNumber;
/** What the log says of the last failure of an app. */
const hasFailed = (app: string, pattern: RegExp): Promise<unknown> =>
  until(() => gateway.logs().some((line) => line['app'] === app && pattern.test(String(line['detail']))));
/** Resolves when certificates were read again, and now are these. */
async function untilRead(names: readonly string[], change: () => void): Promise<void> {
  const count = (): number =>
    gateway.logs().filter(({ msg }) => msg === 'client certificates were reloaded').length;
  const before = count();
  change();
  await until(async () => {
    const [{ state }] = await gateway.must('GET', '/state');
    const known = state.certificates.flatMap((each: { readonly names: readonly string[] }) => each.names);
    return count() > before && JSON.stringify(known) === JSON.stringify(names);
  });
}

/**
 * A certificate of one trusted authority, followed by certificates that lead to another one, which is pinned: by name
 * and key identifier, not by signature.
 */
function forgedChain() {
  const at = (name: string): string => join(folder, 'forged', name);
  mkdirSync(at(''), { recursive: true });
  const openssl = (...args: string[]): string =>
    execFileSync(installedProgram('openssl', 'openssl'), args, { stdio: 'pipe' }).toString();
  const key = (name: string): string[] => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    at(`${name}.key`),
  ];
  const authority = (name: string, subject: string, ...also: string[]): string =>
    openssl('req', '-x509', ...key(name), '-out', at(`${name}.pem`), '-subj', `/CN=${subject}`, ...also);
  const issued = (name: string, subject: string, by: string, extensions: string): void => {
    openssl('req', ...key(name), '-out', at(`${name}.csr`), '-subj', `/CN=${subject}`);
    writeFileSync(at(`${name}.ext`), extensions);
    const signer = ['-CA', at(`${by}.pem`), '-CAkey', at(`${by}.key`), '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      at(`${name}.csr`),
      ...signer,
      '-out',
      at(`${name}.pem`),
      '-extfile',
      at(`${name}.ext`),
    );
  };
  const idOf = (name: string): string =>
    openssl('x509', '-in', at(`${name}.pem`), '-noout', '-ext', 'subjectKeyIdentifier')
      .trim()
      .split('\n')
      .at(-1)
      ?.trim() ?? '';
  authority('good', 'Good CA', '-addext', 'keyUsage=critical,keyCertSign,cRLSign');
  authority('rogue', 'Rogue CA', '-addext', 'keyUsage=critical,keyCertSign,cRLSign');
  issued('leaf', 'localhost', 'rogue', 'subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid\n');
  authority('as-good', 'Good CA', '-addext', `subjectKeyIdentifier=${idOf('good')}`);
  const link = `basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=${idOf('rogue')}\nauthorityKeyIdentifier=keyid\n`;
  issued('link', 'Rogue CA', 'as-good', link);
  const text = (name: string): string => readFileSync(at(name), 'utf8');
  const pin = (name: string): string => pinOf(new X509Certificate(text(name)).raw);
  return {
    cert: text('leaf.pem') + text('link.pem') + text('good.pem'),
    key: text('leaf.key'),
    trusted: text('good.pem') + text('rogue.pem'),
    pinned: pin('good.pem'),
    ownPin: pin('leaf.pem'),
  };
}

beforeAll(async () => {
  put('billing', 'site');
  gateway = await startGateway({
    env: { GATEWAY_PROXY__CLIENT_CERTIFICATES: folder, GATEWAY_WORKERS: '2' },
  });
  const revision = (port: number, tls: object) => ({
    revision: { backend_scheme: 'https', backend_host: 'localhost', backend_port: port, backend_tls: tls },
  });
  const [newer, older] = await Promise.all([demandingBackend('TLSv1.3'), demandingBackend('TLSv1.2')]);
  const named = { ca: CA, client_certificate: 'billing' };
  await createService(gateway, 'newer', newer, revision(newer, named));
  await createService(gateway, 'older', older, revision(older, named));
  await createService(gateway, 'bare', newer, revision(newer, { ca: CA }));
  await createService(gateway, 'bare-older', older, revision(older, { ca: CA }));
  await createService(gateway, 'absent', newer, revision(newer, { ca: CA, client_certificate: 'none' }));
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

describe('a client certificate', () => {
  /** Details of the problems with files that cannot be used. */
  const unusable = async (): Promise<string[]> =>
    ((await gateway.must('GET', '/problems')) as { code: string; detail: string }[])
      .filter(({ code }) => code === 'certificate_files_unusable')
      .map(({ detail }) => detail);

  it('is presented to the backends whose revision names it', async () => {
    for (const app of ['newer', 'older']) {
      const answer = await request(gateway, `/${app}/v1/x`);
      expect([answer.status, answer.body]).toEqual([200, serialOf('site.pem')]);
    }
  });

  it('that a backend misses ends in a reason that says so', async () => {
    for (const app of ['bare', 'bare-older']) {
      const answer = await request(gateway, `/${app}/v1/x`);
      expect(answer.status).toBe(502);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'upstream_connect_failed' });
    }
    await hasFailed('bare', /the backend refused the client certificate of the gateway, or requires one/);
    await hasFailed('bare-older', /HANDSHAKE_FAILURE/);
  });

  it('that is not in the folder is warned of when written, and never left out', async () => {
    const { body } = await gateway.api('PATCH', revisionPath('absent'), { traffic_weight: 50 });
    expect(body.warnings).toEqual([
      expect.objectContaining({
        code: 'client_certificate_missing',
        pointer: '/backend_tls/client_certificate',
      }),
    ]);
    expect((await request(gateway, '/absent/v1/x')).status).toBe(502);
    const told = {
      severity: 'critical',
      code: 'client_certificate_missing',
      detail: expect.stringMatching(
        /no usable files none\.crt and none\.key: .* of revision r1 of absent v1$/,
      ),
    };
    expect(await gateway.must('GET', '/problems')).toContainEqual(expect.objectContaining(told));
    await hasFailed('absent', /there is no client certificate "none"/);
    await untilRead(['billing', 'none'], () => put('none', 'wildcard'));
    expect(await gateway.must('GET', '/problems')).not.toContainEqual(
      expect.objectContaining({ code: told.code }),
    );
    expect((await request(gateway, '/absent/v1/x')).body).toBe(serialOf('wildcard.pem'));
    await untilRead(['billing'], () => {
      rmSync(join(folder, 'none.crt'));
      rmSync(join(folder, 'none.key'));
    });
    expect((await request(gateway, '/absent/v1/x')).status).toBe(502);
  });

  it('is read again when its files change, and a pair that does not match changes nothing', async () => {
    replace('billing.key', pem('other-key.pem'));
    await until(() =>
      gateway.logs().some(({ msg }) => String(msg).startsWith('cannot use a client certificate')),
    );
    expect((await request(gateway, '/newer/v1/x')).body).toBe(serialOf('site.pem'));
    expect(await unusable()).toEqual([
      expect.stringMatching(/"billing".*does not belong to the certificate/),
    ]);
    await untilRead(['billing'], () => put('billing', 'site-renewed'));
    expect(await unusable()).toEqual([]);
    expect((await request(gateway, '/newer/v1/x')).body).toBe(serialOf('site-renewed.pem'));
  });

  it('whose chain is half-written stays as it was', async () => {
    replace('billing.crt', pem('site-renewed.pem') + pem('ca.pem').slice(0, 200));
    await until(async () => (await unusable()).length === 1);
    expect(await unusable()).toEqual([expect.stringMatching(/"billing".*\(bad end line\)/)]);
    for (let n = 0; n < 4; n++)
      expect((await request(gateway, '/newer/v1/x')).body).toBe(serialOf('site-renewed.pem'));
    replace('billing.crt', pem('site-renewed.pem') + pem('ca.pem'));
    await until(async () => (await unusable()).length === 0);
    expect((await request(gateway, '/newer/v1/x')).body).toBe(serialOf('site-renewed.pem'));
  });

  it('that cannot be read, as a pipe or far too long, holds nothing else up', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.crt'), join(folder, 'pipe.key')]);
    writeFileSync(join(folder, 'long.crt'), Buffer.alloc(300_000));
    copyFileSync(join(TLS, 'site-key.pem'), join(folder, 'long.key'));
    await untilRead(['billing', 'other'], () => put('other', 'site'));
    const complaints = gateway.logs().filter(({ msg }) => String(msg).startsWith('cannot use a client'));
    expect(complaints.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([
        'pipe.crt: it is not a regular file',
        'long.crt: it has more than 262144 bytes',
      ]),
    );
    expect(await unusable()).toHaveLength(2);
    for (const name of ['pipe', 'long'])
      for (const end of ['crt', 'key']) rmSync(join(folder, `${name}.${end}`));
    await until(async () => (await unusable()).length === 0);
  });

  it('of a folder that is not there stops the start', async () => {
    const { code, output } = await runToEnd({
      GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'x.db')}`,
      GATEWAY_PROXY__CLIENT_CERTIFICATES: join(folder, 'nowhere'),
      GATEWAY_SERVER__PORT: '0',
      GATEWAY_PROXY__PORT: '0',
    });
    expect(code).toBe(1);
    expect(output).toContain('Cannot read the folder of GATEWAY_PROXY__CLIENT_CERTIFICATES');
  });
});

describe('pins', () => {
  it('let only a backend pass that has one of the keys in its chain', async () => {
    const tls = { client_certificate: 'billing', ca: CA };
    const pins = [pinOfFile('other.pem'), pinOfFile('backend.pem')];
    const set = (backendTls: object) =>
      gateway.must('PATCH', revisionPath('older'), { backend_tls: backendTls });
    await set({ ...tls, pins });
    expect((await request(gateway, '/older/v1/x')).status).toBe(200);
    await set({ ...tls, pins: [pinOfFile('ca.pem')] });
    expect((await request(gateway, '/older/v1/x')).status).toBe(200);
    await set({ ...tls, pins: [pinOfFile('other.pem')] });
    expect((await request(gateway, '/older/v1/x')).status).toBe(502);
    await hasFailed('older', /no certificate of the backend has a pinned key/);
  });

  it('are not met by a certificate that is sent along and has signed nothing', async () => {
    const chain = forgedChain();
    const server = https.createServer({ cert: chain.cert, key: chain.key }, (_incoming, response) =>
      response.end(),
    );
    server.on('tlsClientError', () => undefined);
    servers.push(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const tls = { ca: chain.trusted, pins: [chain.pinned] };
    await createService(gateway, 'forged', port, {
      revision: { backend_scheme: 'https', backend_host: 'localhost', backend_port: port, backend_tls: tls },
    });
    expect((await request(gateway, '/forged/v1/x')).status).toBe(502);
    await hasFailed('forged', /no certificate of the backend has a pinned key/);
    await gateway.must('PATCH', revisionPath('forged'), { backend_tls: { pins: [chain.ownPin] } });
    expect((await request(gateway, '/forged/v1/x')).status).toBe(200);
  });

  it('need the certificate to be verified, and are SHA-256 in base64', async () => {
    const pin = pinOfFile('backend.pem');
    const write = (tls: object) => gateway.api('PATCH', revisionPath('older'), { backend_tls: tls });
    const unverified = await write({ verify: false, pins: [pin] });
    expect([unverified.status, unverified.body.errors[0].pointer]).toEqual([422, '/backend_tls/pins']);
    const short = await write({ pins: ['abc='] });
    expect([short.status, short.body.errors[0].pointer]).toEqual([422, '/backend_tls/pins/0']);
    const path = await write({ client_certificate: '../billing' });
    expect([path.status, path.body.errors[0].pointer]).toEqual([422, '/backend_tls/client_certificate']);
  });
});
