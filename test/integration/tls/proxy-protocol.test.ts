/**
 * Behind a load balancer that begins each connection with the client's address (PROXY protocol): the started program,
 * with and without TLS. 127.0.0.2 is the balancer, other addresses of loopback are clients that connect by themselves.
 */
import { once } from 'node:events';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import { resolve } from 'node:path';
import * as tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CA } from '../../support/clients/http2-client.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { proxyBytes, proxyLine, proxyLocal } from '../../support/clients/proxy-headers.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { metric } from '../../support/policies.ts';
import { createService, echoed, requestText } from '../../support/traffic.ts';

const BALANCER = '127.0.0.2';
const TLS = resolve(import.meta.dirname, '../../support/tls');
const HEAD_TIMEOUT_MS = 1_500;
const GET = requestText('/shop/v1/x');
const ENV = {
  GATEWAY_PROXY__PROXY_PROTOCOL_FROM: `${BALANCER}, 2001:db8::/32`,
  GATEWAY_PROXY__TLS__PORT: '0',
  GATEWAY_PROXY__TLS__CERT_FILE: resolve(TLS, 'backend.pem'),
  GATEWAY_PROXY__TLS__KEY_FILE: resolve(TLS, 'backend-key.pem'),
  GATEWAY_LOG__ACCESS: 'all',
};

function tlsPortOf(started: TestGateway): number {
  const ready = started.logs().find(({ msg }) => msg === 'headgate is ready');
  return Number(String(ready?.['proxy_tls']).split(':')[1]);
}

let origin: Origin;
let gateway: TestGateway;
let tlsPort = 0;

beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startGateway({
    env: {
      ...ENV,
      GATEWAY_PROXY__HEAD_TIMEOUT_MS: String(HEAD_TIMEOUT_MS),
      GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP: '3',
      GATEWAY_PROXY__MAX_CONNECTIONS: '20',
    },
  });
  tlsPort = tlsPortOf(gateway);
  await createService(gateway, 'shop', origin.port);
});
afterAll(async () => {
  await gateway?.stop();
  await origin?.close();
});

/** Each is ended at the end of its test. */
async function fromBalancer<T>(use: (client: RawClient) => Promise<T>): Promise<T> {
  const client = await connectRaw(gateway.proxyPort, BALANCER);
  try {
    return await use(client);
  } finally {
    client.end();
  }
}

const forwardedFor = async (client: RawClient): Promise<unknown> =>
  echoed(await client.response()).headers['x-forwarded-for'];

describe('the client of a connection', () => {
  it.each([
    ['a line', proxyLine('203.0.113.9'), '203.0.113.9'],
    ['a line with an IPv6 address', proxyLine('2001:0DB8::9'), '2001:db8::9'],
    ['bytes', proxyBytes('203.0.113.10'), '203.0.113.10'],
    ['the balancer for itself', proxyLocal(), BALANCER],
    ['the balancer, which does not know it', 'PROXY UNKNOWN\r\n', BALANCER],
  ])('is what %s says', async (_what, header, expected) => {
    await fromBalancer(async (client) => {
      client.write(header);
      client.write(GET);
      expect(await forwardedFor(client)).toBe(expected);
      client.write(GET);
      expect(await forwardedFor(client)).toBe(expected);
    });
    await until(() => gateway.logs().some(({ msg, client_ip: ip }) => msg === 'access' && ip === expected));
  });

  it('is the same, whatever the pieces in which header and requests arrive', async () => {
    const body = 'x'.repeat(200_000);
    const requests = GET + requestText('/shop/v1/y', { method: 'POST', body }) + GET;
    const all = Buffer.concat([
      proxyBytes('203.0.113.11', Buffer.alloc(300).fill('040000', 'hex')),
      Buffer.from(requests),
    ]);
    await fromBalancer(async (client) => {
      for (const byte of all.subarray(0, 340)) {
        client.write(Buffer.from([byte]));
        await new Promise((done) => setImmediate(done));
      }
      client.write(all.subarray(340));
      for (const length of [0, body.length, 0]) {
        const seen = echoed(await client.response());
        expect([seen.headers['x-forwarded-for'], seen.body.length]).toEqual(['203.0.113.11', length]);
      }
    });
    await fromBalancer(async (client) => {
      client.write(all);
      for (const length of [0, body.length, 0])
        expect(echoed(await client.response()).body.length).toBe(length);
    });
  });

  it('does not get its answer if it has gone, and the gateway keeps nothing', async () => {
    const before = await connections();
    const client = await connectRaw(gateway.proxyPort, BALANCER);
    client.socket.end(proxyLine('203.0.113.12') + requestText('/shop/v1/gone'));
    await client.closed();
    expect(await until(async () => (await connections()) <= before)).toBe(true);
  });

  it('holds over TLS, with HTTP/1.1 and HTTP/2', async () => {
    const plain = net.connect({ port: tlsPort, host: '127.0.0.1', localAddress: BALANCER });
    plain.write(proxyBytes('203.0.113.13'));
    const options = { socket: plain, ca: CA, servername: 'localhost' };
    const socket = tls.connect(options);
    socket.write(requestText('/shop/v1/x', { headers: { Connection: 'close' } }));
    let text = '';
    for await (const chunk of socket.setEncoding('latin1') as AsyncIterable<string>) text += chunk;
    expect(text).toContain('"x-forwarded-for":"203.0.113.13"');
    expect(text).toContain('"x-forwarded-proto":"https"');

    const second = net.connect({ port: tlsPort, host: '127.0.0.1', localAddress: BALANCER });
    second.write(proxyLine('203.0.113.14'));
    const session = http2.connect('https://localhost', {
      createConnection: () => tls.connect({ ...options, socket: second, ALPNProtocols: ['h2'] }),
    });
    const stream = session.request({ ':path': '/shop/v1/x' });
    let body = '';
    for await (const chunk of stream.setEncoding('latin1') as AsyncIterable<string>) body += chunk;
    session.destroy();
    expect(body).toContain('"x-forwarded-for":"203.0.113.14"');
  });

  it('counts for the bound per address, not the balancer', async () => {
    const open: RawClient[] = [];
    const begin = async (address: string): Promise<number> => {
      const client = await connectRaw(gateway.proxyPort, BALANCER);
      open.push(client);
      client.write(proxyLine(address) + GET);
      return (await client.response()).status;
    };
    try {
      for (let n = 0; n < 3; n++) expect(await begin('203.0.113.20')).toBe(200);
      expect(await begin('203.0.113.20')).toBe(503);
      for (let n = 0; n < 3; n++) expect(await begin('203.0.113.21')).toBe(200);
    } finally {
      for (const client of open) client.end();
    }
  });
});

describe('without a header', () => {
  const refused = (): Promise<number> => metric(gateway, 'headgate_proxy_headers_refused_total');

  it.each([
    ['a request', GET],
    ['a TLS handshake', Buffer.from('16030100c8010000c40303', 'hex')],
    ['a header that is cut', 'PROXY TCP4 203.0.113.9'],
    ['a header of version 2 that is too long', Buffer.from('0d0a0d0a000d0a515549540a2111ffff', 'hex')],
  ])('a connection of the balancer is closed: %s', async (_what, bytes) => {
    const before = await refused();
    const backendSaw = origin.seen.length;
    await fromBalancer(async (client) => {
      client.write(bytes);
      if (String(bytes).startsWith('PROXY')) client.socket.end();
      await client.closed();
      expect(client.received()).toBe('');
    });
    await until(async () => (await refused()) === before + 1);
    expect(origin.seen.length).toBe(backendSaw);
    // The line and the count come from different threads.
    await expect
      .poll(() => gateway.logs().find(({ msg }) => msg === 'a connection without a PROXY header was closed'))
      .toMatchObject({ client_ip: BALANCER, problem: expect.any(String) });
  });

  it('a silent one is closed in time, and one that only looks is no problem', async () => {
    const before = await refused();
    await fromBalancer(async (client) => client.socket.end());
    await fromBalancer(async (client) => client.closed(HEAD_TIMEOUT_MS + 5_000));
    await until(async () => (await refused()) > before);
    expect(await refused()).toBe(before + 1);
  });

  it('silent ones give way to clients when the worker is full', async () => {
    const silent: RawClient[] = [];
    try {
      for (let n = 0; n < 25; n++) silent.push(await connectRaw(gateway.proxyPort, BALANCER));
      await fromBalancer(async (client) => {
        client.write(proxyLine('203.0.113.30') + GET);
        expect((await client.response()).status).toBe(200);
      });
    } finally {
      for (const client of silent) client.end();
    }
  });

  it('clients that are no balancer are served, and their headers are not read', async () => {
    const own = await connectRaw(gateway.proxyPort);
    own.write(GET);
    expect(await forwardedFor(own)).toBe('127.0.0.1');
    own.end();
    const liar = await connectRaw(gateway.proxyPort, '127.0.0.3');
    liar.write(proxyLine('203.0.113.9') + GET);
    expect((await liar.response()).status).toBe(400);
    liar.end();
  });
});

describe('two connections from one port of the balancer to two addresses of the gateway', () => {
  let other: TestGateway;
  let port = 0;
  beforeAll(async () => {
    other = await startGateway({
      env: { ...ENV, GATEWAY_PROXY__HOST: '0.0.0.0', GATEWAY_TRUSTED_PROXY_IPS: BALANCER },
    });
    port = tlsPortOf(other);
    await createService(other, 'shop', origin.port);
  });
  afterAll(async () => other?.stop());

  const announce = async (host: string, client: string, localPort?: number): Promise<net.Socket> => {
    const socket = net.connect({ host, port, localAddress: BALANCER, ...(localPort && { localPort }) });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    await new Promise((done) => socket.write(proxyLine(client), done));
    return socket;
  };
  const clientSeen = async (plain: net.Socket): Promise<unknown> => {
    const socket = tls.connect({ socket: plain, ca: CA, servername: 'localhost' });
    socket.write(requestText('/shop/v1/x', { headers: { Connection: 'close' } }));
    let text = '';
    for await (const chunk of socket.setEncoding('latin1') as AsyncIterable<string>) text += chunk;
    return /"x-forwarded-for":"([^"]*)"/.exec(text)?.[1];
  };

  it.each(['first', 'second'])('are two clients, whichever is ready before: the %s', async (earlier) => {
    const one = await announce('127.0.0.1', '203.0.113.41');
    const two = await announce('127.0.0.2', '203.0.113.42', one.localPort);
    expect(two.localPort).toBe(one.localPort);
    const both = [
      { socket: one, client: '203.0.113.41' },
      { socket: two, client: '203.0.113.42' },
    ];
    if (earlier === 'second') both.reverse();
    // Time to read what was announced; too little of it could only hide a mistake.
    await new Promise((done) => setTimeout(done, 100));
    for (const { socket, client } of both) expect(await clientSeen(socket)).toBe(client);
  });

  it('the end of one is not that of the other', async () => {
    // Those of the tests before may still be on their way out.
    await until(async () => (await metric(other, 'headgate_downstream_connections')) === 0);
    const one = await announce('127.0.0.1', '203.0.113.43');
    const two = await announce('127.0.0.2', '203.0.113.44', one.localPort);
    two.destroy();
    await until(async () => (await metric(other, 'headgate_downstream_connections')) === 1);
    expect(await clientSeen(one)).toBe('203.0.113.43');
  });

  it.each([
    ['a line', 'PROXY UNKNOWN\r\n'],
    ['bytes', proxyLocal()],
  ])('a trusted balancer that does not say whose one is vouches for no field: %s', async (_what, header) => {
    const client = await connectRaw(other.proxyPort, BALANCER);
    const forged = { 'X-Forwarded-For': '198.51.100.9', 'X-Forwarded-Proto': 'https' };
    client.write(header);
    client.write(requestText('/shop/v1/forged', { headers: forged }));
    const { headers } = echoed(await client.response());
    client.end();
    expect([headers['x-forwarded-for'], headers['x-forwarded-proto']]).toEqual([BALANCER, 'http']);
    const socket = net.connect({ host: '127.0.0.1', port, localAddress: BALANCER });
    socket.write(header);
    const session = http2.connect('https://localhost', {
      createConnection: () => tls.connect({ socket, ca: CA, servername: 'localhost', ALPNProtocols: ['h2'] }),
    });
    const stream = session.request({ ':path': '/shop/v1/forged', 'x-forwarded-for': '198.51.100.9' });
    let body = '';
    for await (const chunk of stream.setEncoding('latin1') as AsyncIterable<string>) body += chunk;
    session.destroy();
    expect(body).toContain(`"x-forwarded-for":"${BALANCER}"`);
    await until(() => other.logs().filter(({ path }) => path === '/shop/v1/forged').length > 0);
    expect(other.logs().some(({ client_ip: ip }) => ip === '198.51.100.9')).toBe(false);
  });
});

it('a stop does not wait for connections without a whole announcement, unless more of it arrives', async () => {
  const own = await startGateway({ env: { ...ENV, GATEWAY_PROXY__HEAD_TIMEOUT_MS: '20000' } });
  await createService(own, 'shop', origin.port);
  const silent = await connectRaw(own.proxyPort, BALANCER);
  const begun = await connectRaw(own.proxyPort, BALANCER);
  const stuck = await connectRaw(own.proxyPort, BALANCER);
  const announcement = proxyLine('203.0.113.50');
  let sent = 'PROXY '.length;
  for (const client of [begun, stuck]) client.write(announcement.slice(0, sent));
  await until(async () => (await metric(own, 'headgate_downstream_connections')) >= 3);
  const more = setInterval(() => begun.write(announcement.slice(sent, ++sent)), 250);
  const stopped = own.stop();
  await Promise.all([silent.closed(8_000), stuck.closed(8_000)]);
  clearInterval(more);
  begun.write(announcement.slice(sent) + GET);
  expect(await forwardedFor(begun)).toBe('203.0.113.50');
  expect(await stopped).toBe(0);
  silent.end();
  begun.end();
});

async function connections(): Promise<number> {
  return metric(gateway, 'headgate_downstream_connections');
}
