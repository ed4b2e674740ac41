/**
 * Contract part 1 GATEWAY_TRUSTED_PROXY_IPS: what the backend learns about the client, its host and the way of the
 * request, and what a client may and may not say about that.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, startRawOrigin, type Origin, type Seen } from '../../support/backends/origin.ts';
import { createService, echoed, request, requestText, revisionPath } from '../../support/traffic.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { until } from '../../support/measure/until.ts';
import { plainHost } from '../../support/three-targets.ts';

let origin: Origin;
/** Trusts no proxy. */
let direct: TestGateway;
/** Trusts loopback and two networks of proxies in front of it. */
let behind: TestGateway;

const LIMIT_BY_IP = {
  default_policy: { rate_limit: { enabled: true, requests: 2, window_seconds: 3600, per: 'ip' } },
};

beforeAll(async () => {
  origin = await startOrigin();
  [direct, behind] = await Promise.all([
    startGateway(),
    startGateway({ env: { GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1, 10.1.0.0/16,2001:db8:1::/48' } }),
  ]);
  for (const gateway of [direct, behind]) {
    await createService(gateway, 'who', origin.port);
    await createService(gateway, 'limited', origin.port, { app: LIMIT_BY_IP });
  }
});
afterAll(async () => {
  await Promise.all([direct.stop(), behind.stop()]);
  await origin.close();
});

async function seenBy(gateway: TestGateway, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
  return echoed(await request(gateway, '/who/v1/x', { headers }));
}

function valuesOf(seen: Seen, name: string): string[] {
  return seen.rawHeaders.flatMap((each, index) =>
    index % 2 === 0 && each.toLowerCase() === name ? [seen.rawHeaders[index + 1] ?? ''] : [],
  );
}

/** Another name in each gateway, and at each start. */
const OWN_VIA = /^1\.1 headgate-[0-9a-f]{16}$/;

describe('from an untrusted client', () => {
  it('the backend gets the peer’s address, protocol, host, a request id and Via', async () => {
    const response = await request(direct, '/who/v1/x', { headers: { Host: 'api.shop.test:8443' } });
    const { headers } = echoed(response);
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'api.shop.test:8443',
      via: expect.stringMatching(OWN_VIA),
      'x-request-id': response.headers['x-request-id'],
    });
    expect(response.headers['x-request-id']).toMatch(/^\S{8,}$/);
    expect(response.headers['via']).toBe('1.1 headgate');
  });

  it('what it says about where it comes from is replaced, each field once', async () => {
    const seen = await seenBy(direct, {
      'X-Forwarded-For': '1.2.3.4',
      'x-forwarded-proto': 'https',
      'X-FORWARDED-HOST': 'evil.test',
      'X-Request-Id': 'forged-request-id',
    });
    expect(valuesOf(seen, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    expect(valuesOf(seen, 'x-forwarded-proto')).toEqual(['http']);
    expect(valuesOf(seen, 'x-forwarded-host')).toEqual(['gateway.test']);
    expect(valuesOf(seen, 'x-request-id')).not.toContain('forged-request-id');
    expect(valuesOf(seen, 'x-request-id')).toHaveLength(1);
  });

  it('other fields that name an origin are dropped, also under their aliases', async () => {
    const forged = {
      Forwarded: 'for=1.2.3.4;proto=https',
      'X-Real-IP': '1.2.3.4',
      'True-Client-IP': '1.2.3.4',
      'X-Forwarded-Port': '443',
      'X-Forwarded-Prefix': '/admin',
      X_Forwarded_For: '1.2.3.4',
      'X_Forwarded-For': '1.2.3.4',
      'X-Headgate-Key-Id': 'forged',
      'x-headgate-anything': 'forged',
      X_Headgate_Key_Id: 'forged',
    };
    const { headers } = await seenBy(direct, forged);
    for (const name of Object.keys(forged)) expect(headers).not.toHaveProperty([name.toLowerCase()]);
    expect(JSON.stringify(headers)).not.toContain('1.2.3.4');
    expect(JSON.stringify(headers)).not.toContain('forged');
  });

  it('spec 1: its X-Forwarded-For does not change the client IP that limits go by', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 4; index++) {
      const headers = { 'X-Forwarded-For': `203.0.113.${index}` };
      statuses.push((await request(direct, '/limited/v1/x', { headers })).status);
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
  });

  it('RFC 9110 7.6.1: fields that Connection nominates stay on their hop, the gateway’s own cannot be nominated', async () => {
    const { headers } = await seenBy(direct, {
      Connection: 'X-Private, X-Forwarded-For, X-Request-Id, Via, traceparent, Host',
      'X-Private': 'secret',
      'Keep-Alive': 'timeout=5',
      'Proxy-Connection': 'keep-alive',
    });
    expect(headers).not.toHaveProperty('x-private');
    expect(headers).not.toHaveProperty('keep-alive');
    expect(headers).not.toHaveProperty('proxy-connection');
    expect(headers['x-forwarded-for']).toBe('127.0.0.1');
    expect(headers.via).toMatch(OWN_VIA);
    expect(headers['x-request-id']).toBeDefined();
    expect(headers['traceparent']).toBeDefined();
    expect(plainHost(headers.host)).toBe(`127.0.0.1:${origin.port}`);
  });
});

it('what a CGI program would take for its proxy setting (CVE-2016-5385) reaches no backend', async () => {
  expect((await seenBy(direct, { Proxy: 'http://proxy.test' })).headers).not.toHaveProperty('proxy');
});

describe('from a trusted proxy', () => {
  it('X-Forwarded-For is appended to; -Proto, -Host and the request id are continued', async () => {
    const response = await request(behind, '/who/v1/x', {
      headers: {
        'X-Forwarded-For': '198.51.100.7, 10.1.2.3',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'shop.test',
        'X-Request-Id': 'edge-4711',
        'X-Real-IP': '198.51.100.7',
        'CF-Connecting-IP': '198.51.100.7',
        'Client-IP': '198.51.100.7',
      },
    });
    const seen = echoed(response);
    expect(valuesOf(seen, 'x-forwarded-for')).toEqual(['198.51.100.7, 10.1.2.3, 127.0.0.1']);
    expect(valuesOf(seen, 'x-forwarded-proto')).toEqual(['https']);
    expect(valuesOf(seen, 'x-forwarded-host')).toEqual(['shop.test']);
    expect(valuesOf(seen, 'x-request-id')).toEqual(['edge-4711']);
    expect(response.headers['x-request-id']).toBe('edge-4711');
    expect(seen.headers['x-real-ip']).toBe('198.51.100.7');
    expect(seen.headers['cf-connecting-ip']).toBe('198.51.100.7');
    expect(seen.headers['client-ip']).toBe('198.51.100.7');
  });

  it('several X-Forwarded-For fields are one list', async () => {
    const text =
      'GET /who/v1/x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 198.51.100.2\r\n\r\n';
    const seen = echoed(await sendRaw(behind.proxyPort, text));
    expect(valuesOf(seen, 'x-forwarded-for')).toEqual(['198.51.100.1, 198.51.100.2, 127.0.0.1']);
  });

  it('without X-Forwarded-For it is the client itself', async () => {
    expect((await seenBy(behind)).headers['x-forwarded-for']).toBe('127.0.0.1');
  });

  it('X-Headgate- fields are dropped from trusted peers, too', async () => {
    const { headers } = await seenBy(behind, { 'X-Headgate-Key-Id': 'forged', 'X-Headgate-Scopes': 'admin' });
    expect(Object.keys(headers).filter((name) => name.startsWith('x-headgate'))).toEqual([]);
  });

  it('spec 1: the client IP is the right-most untrusted address of X-Forwarded-For', async () => {
    const statusFor = async (forwardedFor: string): Promise<number> =>
      (await request(behind, '/limited/v1/x', { headers: { 'X-Forwarded-For': forwardedFor } })).status;
    // One client: whatever it writes to the left, whichever trusted proxies stand to the right.
    const sameClient = [
      '203.0.113.9',
      '1.1.1.1, 203.0.113.9',
      '2.2.2.2,203.0.113.9, 10.1.200.1',
      '3.3.3.3, 203.0.113.9, 10.1.0.1, 127.0.0.1',
      'rubbish, 203.0.113.9:51234, 2001:db8:1::5',
    ];
    const statuses: number[] = [];
    for (const value of sameClient) statuses.push(await statusFor(value));
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
    // Others are not concerned by it: each has its own two.
    for (const value of [
      '203.0.113.10',
      '203.0.113.9, 203.0.113.11',
      '10.2.0.1',
      '2001:db8:2::1, 10.1.0.1',
    ]) {
      expect([value, await statusFor(value)]).toEqual([value, 200]);
    }
  });

  it('the client IP is in the access log', async () => {
    const response = await request(behind, '/who/v1/x', {
      headers: { 'X-Forwarded-For': '9.9.9.9, 198.51.100.77, 10.1.1.1' },
    });
    const id = response.headers['x-request-id'];
    await expect
      .poll(() => behind.logs().find((line) => line['request_id'] === id && line['msg'] === 'access'), {
        timeout: 10_000,
      })
      .toMatchObject({ client_ip: '198.51.100.77', status: 200 });
  });

  it('the access log shows how a request ended, its duration, and the duration of its backend', async () => {
    const delayMs = 200;
    const slow = createServer((_request, response) => void setTimeout(() => response.end('late'), delayMs));
    await once(slow.listen(0, '127.0.0.1'), 'listening');
    try {
      await createService(direct, 'slow', (slow.address() as AddressInfo).port);
      const beganMs = Date.now();
      const id = (await request(direct, '/slow/v1/x')).headers['x-request-id'];
      const endedMs = Date.now();
      const line = await until(() =>
        direct.logs().find(({ request_id, msg }) => request_id === id && msg === 'access'),
      );
      const upstreamMs = Number(line['upstream_ms']);
      // A timer of Node.js may fire a millisecond early.
      expect(upstreamMs).toBeGreaterThanOrEqual(delayMs - 1);
      expect(Number(line['duration_ms'])).toBeGreaterThanOrEqual(upstreamMs);
      expect(Number(line['duration_ms'])).toBeLessThanOrEqual(endedMs - beganMs + 1);
      const loggedMs = Date.parse(String(line['time']));
      expect(loggedMs).toBeGreaterThanOrEqual(beganMs + delayMs - 1);
      expect(loggedMs).toBeLessThanOrEqual(endedMs + 1);
    } finally {
      slow.closeAllConnections();
      slow.close();
    }
  });

  it('a request id that could break out of a log line or a field is replaced', async () => {
    for (const id of ['has space', '"quoted"', 'x'.repeat(200), 'back\\slash']) {
      const response = await request(behind, '/who/v1/x', { headers: { 'X-Request-Id': id } });
      expect(response.headers['x-request-id']).not.toBe(id);
    }
  });
});

describe('Host', () => {
  it('the backend gets its own host, unless the revision says preserve_host', async () => {
    const headers = { Host: 'Shop.Test' };
    expect(plainHost((await seenBy(direct, headers)).headers.host)).toBe(`127.0.0.1:${origin.port}`);
    await direct.must('PATCH', revisionPath('who'), { preserve_host: true });
    const kept = await seenBy(direct, headers);
    expect(kept.headers.host?.toLowerCase()).toBe('shop.test');
    expect(String(kept.headers['x-forwarded-host']).toLowerCase()).toBe('shop.test');
    await direct.must('PATCH', revisionPath('who'), { preserve_host: false });
    expect(plainHost((await seenBy(direct, headers)).headers.host)).toBe(`127.0.0.1:${origin.port}`);
  });

  it('RFC 9112 3.2.2: the host of an absolute-form target counts, not the Host field', async () => {
    const response = await request(direct, 'http://absolute.test/who/v1/x', {
      headers: { Host: 'other.test' },
    });
    expect(echoed(response).headers['x-forwarded-host']).toBe('absolute.test');
  });

  it('RFC 9112 3.2: exactly one Host goes to the backend, also for an HTTP/1.0 client without one', async () => {
    const response = await sendRaw(direct.proxyPort, 'GET /who/v1/x HTTP/1.0\r\n\r\n');
    const seen = echoed(response);
    expect(valuesOf(seen, 'host').map(plainHost)).toEqual([`127.0.0.1:${origin.port}`]);
    expect(seen.headers.via).toMatch(/^1\.0 headgate-[0-9a-f]{16}$/);
    expect(seen.headers).not.toHaveProperty('x-forwarded-host');
  });
});

describe('Via and traceparent', () => {
  it('RFC 9110 7.6.3: Via is appended to, in both directions', async () => {
    expect((await seenBy(direct, { Via: '1.0 edge, 1.1 cache' })).headers.via).toMatch(
      /^1\.0 edge, 1\.1 cache, 1\.1 headgate-[0-9a-f]{16}$/,
    );
    const speaking = await startRawOrigin((socket, received) => {
      if (received.endsWith('\r\n\r\n'))
        socket.write('HTTP/1.1 200 OK\r\nVia: 1.1 inner\r\nContent-Length: 0\r\n\r\n');
    });
    await createService(direct, 'via', speaking.port);
    expect((await request(direct, '/via/v1/x')).headers['via']).toBe('1.1 inner, 1.1 headgate');
    await speaking.close();
  });

  it('W3C Trace Context: traceparent is passed on with its tracestate', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const { headers } = await seenBy(direct, { traceparent, tracestate: 'vendor=1,other=2' });
    expect(headers).toMatchObject({ traceparent, tracestate: 'vendor=1,other=2' });
  });

  it('W3C Trace Context: one is made when it is absent or cannot be read, and then tracestate is dropped', async () => {
    const made = new Set<unknown>();
    const bad = ['', 'nonsense', '00-00000000000000000000000000000000-b7ad6b7169203331-01', '00-xyz-abc-01'];
    for (const traceparent of bad) {
      const given = traceparent === '' ? {} : { traceparent };
      const { headers } = await seenBy(direct, { ...given, tracestate: 'vendor=1' });
      expect(headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
      expect(headers).not.toHaveProperty('tracestate');
      made.add(headers['traceparent']);
    }
    expect(made.size).toBe(bad.length);
  });
});

describe('identities', () => {
  it('every exchange has its own request id, in the response and at the backend', async () => {
    const client = await connectRaw(direct.proxyPort);
    const ids = new Set<unknown>();
    for (let index = 0; index < 20; index++) {
      client.write(requestText('/who/v1/x'));
      const response = await client.response();
      expect(echoed(response).headers['x-request-id']).toBe(response.headers['x-request-id']);
      ids.add(response.headers['x-request-id']);
    }
    client.end();
    expect(ids.size).toBe(20);
  });
});
