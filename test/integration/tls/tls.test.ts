/** TLS on both sides: backends over https (certificate, name, own authority) and the listener itself. */
import { once } from 'node:events';
import type * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import * as tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startOrigin, type Seen } from '../../support/backends/origin.ts';
import { pem } from '../../support/data/pem.ts';
import { oneRoute, startProxy, type RouteSetup, type TestProxyOptions } from '../../support/proxy.ts';
import { until } from '../../support/measure/until.ts';
import { renegotiate } from '../../support/clients/handshake.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';

const secureTo = (port: number) => ({ port, host: '127.0.0.1', ca: CA, servername: 'backend.test' });
const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';

const closers = closeAfterEach();

async function proxyTo(setup: RouteSetup, options: TestProxyOptions = {}) {
  const proxy = await startProxy(oneRoute(setup), options);
  closers.push(() => proxy.close());
  return proxy;
}

async function httpsOrigin(certificate: 'backend' | 'other') {
  const names: (string | false | null | undefined)[] = [];
  let connections = 0;
  const server = https.createServer(
    { cert: pem(`${certificate}.pem`), key: pem(`${certificate}-key.pem`) },
    (request, response) => {
      names.push((request.socket as tls.TLSSocket).servername);
      response.end(`${request.method} ${request.url}`);
    },
  );
  server.on('secureConnection', () => (connections += 1));
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { port: (server.address() as AddressInfo).port, names, connections: () => connections };
}

describe('https backends', () => {
  it('are verified against the authority of the revision and keep their connection', async () => {
    const origin = await httpsOrigin('backend');
    const proxy = await proxyTo({
      backendPort: origin.port,
      revision: { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } },
    });
    for (let n = 0; n < 5; n++) expect((await sendRaw(proxy.port, GET)).body).toBe('GET /x');
    expect(origin.connections()).toBe(1);
    expect(origin.names[0]).toBe('localhost');
  });

  it.each<[string, 'backend' | 'other', NonNullable<RouteSetup['revision']>, number]>([
    ['an unknown authority', 'backend', { backend_tls: null }, 502],
    ['an unknown authority, unverified', 'backend', { backend_tls: { verify: false } }, 200],
    ['another name', 'other', { backend_tls: { ca: CA } }, 502],
    ['another name that is expected', 'other', { backend_tls: { ca: CA, server_name: 'other.test' } }, 200],
    ['an address in the certificate', 'backend', { backend_host: '127.0.0.1', backend_tls: { ca: CA } }, 200],
  ])('with %s', async (_name, certificate, revision, status) => {
    const origin = await httpsOrigin(certificate);
    const proxy = await proxyTo({
      backendPort: origin.port,
      revision: { backend_scheme: 'https', backend_host: 'localhost', ...revision },
    });
    const response = await sendRaw(proxy.port, GET);
    expect(response.status).toBe(status);
    if (status === 502) expect(JSON.parse(response.body).code).toBe('upstream_connect_failed');
    if (revision.backend_tls?.server_name !== undefined) expect(origin.names[0]).toBe('other.test');
  });

  it('carry large bodies both ways', async () => {
    const server = https.createServer(TLS_PAIR, (request, response) => request.pipe(response));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    closers.push(async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    });
    const proxy = await proxyTo({
      backendPort: (server.address() as AddressInfo).port,
      revision: { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } },
    });
    const body = 'headgate'.repeat(500_000);
    const client = await connectRaw(proxy.port);
    client.write(`POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    expect((await client.response({ timeoutMs: 20_000 })).body === body).toBe(true);
    client.end();
  });

  it('that speak plain HTTP are a 502', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo({
      backendPort: origin.port,
      revision: { backend_scheme: 'https', backend_tls: { ca: CA } },
    });
    expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(proxy.failures).toEqual(['tls']);
  });
});

describe('a listener with TLS', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'serves HTTP/1.1 over %s, and tells the backend so',
    async (version) => {
      const origin = await startOrigin();
      closers.push(() => origin.close());
      const proxy = await proxyTo({ backendPort: origin.port }, { tls: TLS_PAIR });
      const only = { minVersion: version, maxVersion: version };
      const client = https.get({ ...secureTo(proxy.port), ...only, path: '/a/v1/x', agent: false });
      const [response] = (await once(client, 'response')) as [http.IncomingMessage];
      expect((response.socket as tls.TLSSocket).getProtocol()).toBe(version);
      const { headers } = JSON.parse(await text(response)) as Seen;
      expect(headers['x-forwarded-proto']).toBe('https');
    },
  );

  it.each(['TLSv1', 'TLSv1.1'] as const)('refuses %s', async (version) => {
    const proxy = await proxyTo({ backendPort: 1 }, { tls: TLS_PAIR });
    const client = tls.connect({
      ...secureTo(proxy.port),
      minVersion: version,
      maxVersion: version,
      // Else the client's own library would not even ask.
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const [error] = await once(client, 'error');
    expect(error).toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
  });

  it('has no further handshake within a connection', async () => {
    const proxy = await proxyTo({ backendPort: 1 }, { tls: TLS_PAIR });
    expect(await renegotiate(proxy.port)).toBe('ERR_SSL_NO_RENEGOTIATION');
    expect(await renegotiate(proxy.port, { ALPNProtocols: ['h2'] })).toBe('ERR_SSL_NO_RENEGOTIATION');
  });

  it('does not wait in a drain for clients that stop within the handshake', async () => {
    const options = { headTimeoutMs: 15_000 };
    const proxy = await proxyTo({ backendPort: 1 }, { tls: TLS_PAIR, options });
    const silent = await connectRaw(proxy.port);
    const begun = await connectRaw(proxy.port);
    // The first bytes of a record that holds a ClientHello.
    begun.write(Buffer.from([0x16, 3, 1, 0, 200, 1, 0, 0]));
    await until(() => proxy.listener.connectionCount === 2);
    const startedMs = performance.now();
    await proxy.listener.drain(20_000);
    expect(performance.now() - startedMs).toBeLessThan(8_000);
    await Promise.all([silent.closed(), begun.closed()]);
    expect(proxy.listener.connectionCount).toBe(0);
  });

  it('is not disturbed by clients that speak something else', async () => {
    const proxy = await proxyTo({ backendPort: 1 }, { tls: TLS_PAIR });
    const plain = await connectRaw(proxy.port);
    plain.write(GET);
    await plain.closed();
    const socket = tls.connect(secureTo(proxy.port));
    const answer = await new Promise<string>((done) => {
      socket.on('data', (chunk) => done(String(chunk)));
      socket.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    });
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  });
});
