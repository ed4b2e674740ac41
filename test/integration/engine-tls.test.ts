/** TLS on both sides: backends over https (certificate, name, own authority) and the listener itself. */
import { readFileSync } from 'node:fs';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { startOrigin } from '../support/origin.ts';
import { oneRoute, startProxy, type RouteSetup, type TestProxyOptions } from '../support/proxy.ts';
import { connectRaw, sendRaw } from '../support/raw-client.ts';

const pem = (name: string): string => readFileSync(join(import.meta.dirname, '../support/tls', name), 'utf8');
const CA = pem('ca.pem');
const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

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
    const server = https.createServer(
      { cert: pem('backend.pem'), key: pem('backend-key.pem') },
      (request, response) => request.pipe(response),
    );
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
  it('serves HTTP/1.1 over TLS 1.2 and later, and tells the backend so', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo(
      { backendPort: origin.port },
      { tls: { cert: pem('backend.pem'), key: pem('backend-key.pem') } },
    );
    const body = await new Promise<string>((done, fail) => {
      https
        .get(
          { port: proxy.port, host: '127.0.0.1', path: '/a/v1/x', ca: CA, servername: 'backend.test' },
          (response) => {
            let text = '';
            response.on('data', (chunk) => (text += String(chunk))).on('end', () => done(text));
          },
        )
        .on('error', fail);
    });
    expect(JSON.parse(body).headers['x-forwarded-proto']).toBe('https');
    const old = tls.connect({
      port: proxy.port,
      host: '127.0.0.1',
      ca: CA,
      servername: 'backend.test',
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
    });
    const outcome = await new Promise<string>((done) => {
      old.on('error', () => done('refused'));
      old.on('secureConnect', () => done('accepted'));
    });
    old.destroy();
    expect(outcome).toBe('refused');
  });

  it('is not disturbed by clients that speak something else', async () => {
    const proxy = await proxyTo(
      { backendPort: 1 },
      { tls: { cert: pem('backend.pem'), key: pem('backend-key.pem') } },
    );
    const plain = await connectRaw(proxy.port);
    plain.write(GET);
    await plain.closed();
    const socket = tls.connect({ port: proxy.port, host: '127.0.0.1', ca: CA, servername: 'backend.test' });
    const text = await new Promise<string>((done) => {
      socket.on('data', (chunk) => done(String(chunk)));
      socket.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    });
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 404 /);
  });
});
