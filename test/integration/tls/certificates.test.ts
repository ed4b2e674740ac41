/**
 * Several certificates on the traffic listener of the real program: chosen by name, replaced while it serves, never
 * used by halves, and told of when they cannot be used.
 */
import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { connectHttp2, request } from '../../support/clients/http2-client.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService } from '../../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const pem = (name: string): string => readFileSync(join(TLS, `${name}.pem`), 'utf8');
const SERIALS = new Map(
  ['backend', 'site', 'site-renewed', 'wildcard'].map((name) => [
    new X509Certificate(pem(name)).serialNumber,
    name,
  ]),
);

interface Shown {
  readonly name: string;
  readonly protocol: string | null;
}

/** Which certificate a client is shown that asks for `servername`. */
function shown(port: number, servername: string | undefined): Promise<Shown> {
  return new Promise((done, fail) => {
    const socket = tls.connect({
      port,
      host: '127.0.0.1',
      ...(servername === undefined ? {} : { servername }),
      // What is looked at is which one it is.
      rejectUnauthorized: false,
    });
    socket.on('error', fail);
    socket.on('secureConnect', () => {
      const { serialNumber } = socket.getPeerCertificate();
      done({ name: SERIALS.get(serialNumber) ?? serialNumber, protocol: socket.getProtocol() });
      socket.destroy();
    });
  });
}

/** Makes handshakes one after the other until it is stopped; the certificates that were shown, or what went wrong. */
function keepAsking(port: number, servername: string): { stop(): Promise<string[]> } {
  let isOver = false;
  const ask = async (): Promise<string[]> => {
    const names: string[] = [];
    while (!isOver) {
      names.push(await shown(port, servername).then(({ name }) => name, String));
    }
    return names;
  };
  const asking = ask();
  return {
    stop: () => {
      isOver = true;
      return asking;
    },
  };
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; !(await condition());) {
    if (Date.now() > deadline) throw new Error(`Not within 20 s: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

describe('certificates of the traffic listener', { timeout: 90_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-certificates-'));
  const file = (name: string): string => join(folder, name);
  let gateway: TestGateway;
  /** Answers with a beginning at once; the rest is for the test to give. */
  let origin: Origin;
  const begun: ServerResponse[] = [];

  /** As certificate tools do it: a new file, then a rename, for each of the two. */
  function replace(target: string, source: string): void {
    copyFileSync(join(TLS, source), file('next'));
    renameSync(file('next'), file(target));
  }

  beforeAll(async () => {
    for (const name of ['backend', 'site', 'wildcard']) {
      replace(`${name}.pem`, `${name}.pem`);
      replace(`${name}-key.pem`, `${name}-key.pem`);
    }
    const list = (suffix: string): string =>
      ['backend', 'site', 'wildcard'].map((name) => file(`${name}${suffix}.pem`)).join(', ');
    gateway = await startGateway({
      env: {
        ...INSPECTABLE,
        GATEWAY_WORKERS: '2',
        GATEWAY_PROXY__TLS__CERT_FILE: list(''),
        GATEWAY_PROXY__TLS__KEY_FILE: list('-key'),
      },
    });
    origin = await startOrigin((_request, response) => {
      response.write('begun, ');
      begun.push(response);
    });
    await createService(gateway, 'a', origin.port);
  }, 90_000);

  afterAll(async () => {
    await gateway?.stop();
    await origin?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each<[string | undefined, string]>([
    ['site.test', 'site'],
    ['WWW.Site.test', 'site'],
    ['some.wild.test', 'wildcard'],
    ['wild.test', 'backend'],
    ['unknown.test', 'backend'],
    [undefined, 'backend'],
  ])('a client that asks for %s is shown %s', async (name, expected) => {
    expect(await shown(gateway.proxyPort, name)).toMatchObject({ name: expected });
  });

  it('are reported with their names and their expiry, in the log and as a metric', async () => {
    const line = gateway.logs().find(({ msg }) => msg === 'certificates of the traffic listener are in use');
    expect(line?.['certificates']).toMatchObject([
      { names: expect.arrayContaining(['backend.test']) },
      { names: ['site.test', 'www.site.test'], expires_at: expect.stringMatching(/^21\d\d-/) },
      { names: ['*.wild.test', '192.0.2.1'] },
    ]);
    const metrics = await gateway.api('GET', '//metrics');
    expect(metrics.body).toMatch(
      /^headgate_tls_certificate_expiry_seconds\{listener="traffic",certificate="2",name="site\.test"\} 4\d{9}$/m,
    );
  });

  it('are replaced on all workers when both files have changed, and no connection is dropped', async () => {
    const standing = tls.connect({ port: gateway.proxyPort, host: '127.0.0.1', rejectUnauthorized: false });
    await new Promise((done) => standing.once('secureConnect', done));
    const answers: string[] = [];
    standing.on('data', (chunk) => answers.push(String(chunk)));
    const ask = (): void => void standing.write('GET /x HTTP/1.1\r\nHost: a\r\n\r\n');
    ask();
    await until(() => answers.length === 1, 'the first answer');
    // In the middle of an answer, on that connection and on one of HTTP/2; and some that are just about to connect.
    standing.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    const http2 = await connectHttp2(gateway.proxyPort);
    const stream = request(http2, { ':path': '/a/v1/x' });
    await until(() => begun.length === 2 && answers.join('').includes('begun, '), 'both answers have begun');
    const asking = keepAsking(gateway.proxyPort, 'site.test');

    replace('site.pem', 'site-renewed.pem');
    await until(
      () => gateway.logs().some(({ msg }) => String(msg).startsWith('cannot use the new certificates')),
      'the half pair is noticed',
    );
    for (let n = 0; n < 6; n++)
      expect(await shown(gateway.proxyPort, 'site.test'), 'the old pair serves on').toMatchObject({
        name: 'site',
      });
    replace('site-key.pem', 'site-renewed-key.pem');
    const renewed = 'certificates of the traffic listener were reloaded';
    await until(() => gateway.logs().some(({ msg }) => msg === renewed), 'the new pair is taken');
    // The log line comes after every worker has said that it uses them.
    for (let n = 0; n < 12; n++)
      expect(await shown(gateway.proxyPort, 'site.test')).toMatchObject({ name: 'site-renewed' });
    expect(await shown(gateway.proxyPort, 'some.wild.test')).toMatchObject({ name: 'wildcard' });
    const names = await asking.stop();
    expect(new Set(names), 'every handshake got one or the other').toEqual(new Set(['site', 'site-renewed']));

    for (const response of begun) response.end('and ended');
    expect(await stream).toMatchObject({ status: 200, body: Buffer.from('begun, and ended'), code: 0 });
    await until(() => answers.join('').endsWith('and ended\r\n0\r\n\r\n'), 'the answer of before is whole');
    answers.length = 0;
    ask();
    await until(() => answers.length === 1, 'the connection from before still answers');
    standing.destroy();
    expect((await request(http2, { ':path': '/x' })).status).toBe(404);
    await http2.close();
    const complaints = gateway
      .logs()
      .filter(({ msg }) => String(msg).startsWith('cannot use the new certificates'));
    expect(complaints, 'said once').toHaveLength(1);
    expect(complaints[0]?.['reason']).toMatch(/site\.pem" and ".*site-key\.pem": the key does not belong/);
    expect(gateway.output()).not.toContain('PRIVATE KEY');
  });

  it('are those of a worker too that comes after a change, and of one that was kept in reserve before it', async () => {
    replace('site.pem', 'site-renewed.pem');
    replace('site-key.pem', 'site-renewed-key.pem');
    const isRenewed = async (): Promise<boolean> =>
      (await shown(gateway.proxyPort, 'site.test')).name === 'site-renewed';
    await until(isRenewed, 'the change');
    await crashWorkers(gateway, (title) => /proxy-[12]$/.test(title));
    await until(
      async () => /^headgate_workers 2$/m.test((await gateway.api('GET', '//metrics')).body),
      'both are replaced',
    );
    for (let n = 0; n < 12; n++) expect(await isRenewed()).toBe(true);
  });

  it('are read again on SIGHUP, and the default one is replaced too', async () => {
    writeFileSync(file('backend.pem'), pem('wildcard'));
    writeFileSync(file('backend-key.pem'), pem('wildcard-key'));
    gateway.process.kill('SIGHUP');
    await until(
      async () => (await shown(gateway.proxyPort, undefined)).name === 'wildcard',
      'the default is the new one',
    );
    expect(gateway.process.exitCode).toBeNull();
    replace('backend-key.pem', 'backend-key.pem');
    replace('backend.pem', 'backend.pem');
    await until(async () => (await shown(gateway.proxyPort, undefined)).name === 'backend', 'it is back');
  });

  it('go on serving while a file is missing', async () => {
    rmSync(file('wildcard.pem'));
    await until(
      () =>
        gateway
          .logs()
          .some(({ reason }) => /Cannot read .*wildcard\.pem".*it does not exist/.test(String(reason))),
      'it is noticed',
    );
    expect(await shown(gateway.proxyPort, 'some.wild.test')).toMatchObject({ name: 'wildcard' });
    const unusable = async (): Promise<string[]> =>
      ((await gateway.must('GET', '/problems')) as { code: string; detail: string }[])
        .filter(({ code }) => code === 'certificate_files_unusable')
        .map(({ detail }) => detail);
    expect(await unusable()).toEqual([
      expect.stringMatching(/^Cannot read .*wildcard\.pem": it does not exist\. .* a restart would fail$/),
    ]);
    replace('wildcard.pem', 'wildcard.pem');
    await until(async () => (await unusable()).length === 0, 'it is no problem any more');
    expect(await shown(gateway.proxyPort, 'some.wild.test')).toMatchObject({ name: 'wildcard' });
  });
});

describe('a start with a pair that does not fit', { timeout: 60_000 }, () => {
  it('stops with the files and the reason', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-certificates-'));
    const files = (...names: string[]): string => names.map((name) => join(TLS, `${name}.pem`)).join(',');
    const { code, output } = await runToEnd(
      {
        GATEWAY_ADMIN_TOKEN: 'a-token-for-this-test',
        GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'x.db')}`,
        GATEWAY_PROXY__TLS__CERT_FILE: files('backend', 'site'),
        GATEWAY_PROXY__TLS__KEY_FILE: files('backend-key', 'wildcard-key'),
      },
      [],
      { cwd: folder },
    );
    rmSync(folder, { recursive: true, force: true });
    expect(code).toBe(1);
    expect(output).toMatch(
      /site\.pem" and ".*wildcard-key\.pem": the key does not belong to the certificate/,
    );
    expect(output).not.toContain('PRIVATE KEY');
  });
});
