/**
 * TLS sessions are resumed with whichever worker a connection comes to, also with one that has replaced another, and
 * under each certificate; the keys of their tickets change, after which clients connect as before.
 */
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { TLS_PAIR } from '../../support/clients/http2-client.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';
import { until } from '../../support/measure/until.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;
/** Under the default certificate, under another one, and without a name. */
const NAMES = ['backend.test', 'site.test', undefined];
const RESUMPTIONS = 30;
const PATIENCE_MS = 20_000;

const closers = closeAfterEach();

async function start(env: Record<string, string> = {}): Promise<{ gateway: TestGateway; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-resumption-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['backend', 'site'])
    for (const end of ['.pem', '-key.pem']) copyFileSync(join(TLS, name + end), join(folder, name + end));
  const files = (end: string): string =>
    ['backend', 'site'].map((name) => join(folder, name + end)).join(',');
  const gateway = await startGateway({
    env: {
      GATEWAY_WORKERS: '3',
      GATEWAY_PROXY__TLS__CERT_FILE: files('.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: files('-key.pem'),
      ...env,
    },
  });
  closers.push(() => gateway.stop());
  return { gateway, folder };
}

interface Handshake {
  readonly isReused: boolean;
  readonly session: Buffer;
}

interface Client {
  readonly version: tls.SecureVersion;
  readonly servername: string | undefined;
}

/** One connection with one answer; the session that it leaves. */
function connect(port: number, { version, servername }: Client, session?: Buffer): Promise<Handshake> {
  return new Promise((done, fail) => {
    const socket = tls.connect({
      port,
      host: '127.0.0.1',
      minVersion: version,
      maxVersion: version,
      rejectUnauthorized: false,
      ...(servername === undefined ? {} : { servername }),
      ...(session === undefined ? {} : { session }),
    });
    let latest = session;
    socket.on('session', (next: Buffer) => (latest = next));
    socket.on('error', fail);
    // By the time of an answer the tickets of TLS 1.3, which come behind the handshake, have come.
    socket.on('data', () => {
      const isReused = socket.isSessionReused();
      socket.destroy();
      if (latest === undefined) fail(new Error('the gateway gave no session'));
      else done({ isReused, session: latest });
    });
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  });
}

/** How many of so many new connections with the same session resumed it. */
async function resumed(port: number, client: Client, session: Buffer, count: number): Promise<number> {
  let reused = 0;
  for (let n = 0; n < count; n++) {
    if ((await connect(port, client, session)).isReused) reused += 1;
  }
  return reused;
}

const workersOf = async (gateway: TestGateway): Promise<string> =>
  /^headgate_workers (\d+)$/m.exec(String((await gateway.api('GET', '//metrics')).body))?.[1] ?? '';

describe('sessions of TLS, with three workers', { timeout: 90_000 }, () => {
  it('are resumed by each of them: 30 of 30, in both versions and under each certificate', async () => {
    const { gateway } = await start();
    for (const version of VERSIONS) {
      for (const servername of NAMES) {
        const client = { version, servername };
        const { session, isReused } = await connect(gateway.proxyPort, client);
        expect(isReused).toBe(false);
        const count = await resumed(gateway.proxyPort, client, session, RESUMPTIONS);
        expect(count, `${version} ${servername}`).toBe(RESUMPTIONS);
      }
    }
  });

  it('are resumed by workers that have replaced others, and after the certificates were read again', async () => {
    const { gateway, folder } = await start(INSPECTABLE);
    const clients = VERSIONS.map((version) => ({ version, servername: undefined }));
    const sessions = await Promise.all(
      clients.map(async (client) => (await connect(gateway.proxyPort, client)).session),
    );
    await crashWorkers(gateway, (title) => /proxy-[123]$/.test(title));
    await until(async () => (await workersOf(gateway)) === '3', PATIENCE_MS, 20, 'all are replaced');
    copyFileSync(join(TLS, 'site-renewed.pem'), join(folder, 'site.pem'));
    copyFileSync(join(TLS, 'site-renewed-key.pem'), join(folder, 'site-key.pem'));
    const isRead = (): boolean =>
      gateway.output().includes('certificates of the traffic listener were reloaded');
    await until(isRead, PATIENCE_MS, 20, 'the new certificate is used');
    for (const [index, client] of clients.entries()) {
      const session = sessions[index] as Buffer;
      expect(await resumed(gateway.proxyPort, client, session, 20), client.version).toBe(20);
    }
  });

  it('end with a change of the keys, which costs each client one full handshake', async () => {
    const { gateway } = await start({ GATEWAY_PROXY__TLS__TICKET_ROTATION_SECS: '3' });
    for (const version of VERSIONS) {
      const client = { version, servername: 'site.test' };
      const { session } = await connect(gateway.proxyPort, client);
      const isStale = async (): Promise<boolean> =>
        !(await connect(gateway.proxyPort, client, session)).isReused;
      expect(await until(isStale, PATIENCE_MS, 20, 'the old ticket is of no use')).toBe(true);
      // Every connection succeeds in any case; right behind a change the next one is three seconds away.
      const isResumed = async (): Promise<boolean> => {
        const fresh = await connect(gateway.proxyPort, client);
        return (await resumed(gateway.proxyPort, client, fresh.session, 6)) === 6;
      };
      expect(await until(isResumed, PATIENCE_MS, 20, 'the new ticket is good with all workers')).toBe(true);
    }
  });
});

describe('one listener', () => {
  it('keeps the ticket keys that it was given last when its certificates are read again', async () => {
    const proxy = await startProxy(oneRoute({ backendPort: 1 }), { tls: TLS_PAIR });
    closers.push(() => proxy.close());
    for (const version of VERSIONS) {
      for (const servername of ['localhost', undefined]) {
        const client = { version, servername };
        const old = await connect(proxy.port, client);
        proxy.listener.replaceTicketKeys(randomBytes(48));
        const fresh = await connect(proxy.port, client);
        proxy.listener.replaceCertificates([TLS_PAIR]);
        expect((await connect(proxy.port, client, fresh.session)).isReused).toBe(true);
        expect((await connect(proxy.port, client, old.session)).isReused).toBe(false);
      }
    }
  });
});
