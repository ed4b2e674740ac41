/**
 * docs/reference/backend-connections.md: what a name resolves to decides at the moment of connecting;
 * and requests that come back to the gateway that has sent them (RFC 9110 section 7.6.3).
 */
import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { Revision } from '../../../src/model/resources.ts';
import { probe, PROBE_DEFAULTS } from '../../../src/control/health/probe.ts';
import { compileBackend } from '../../../src/config/backend.ts';
import { connectHttp2, request as requestHttp2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import {
  oneRoute,
  revisionOf,
  startProxy,
  type TestProxy,
  type TestProxyOptions,
} from '../../support/proxy.ts';
import { sendRaw, type RawResponse } from '../../support/clients/raw-client.ts';
import { startTcpRelay } from '../../support/backends/tcp-relay.ts';

const closers = closeAfterEach();

async function proxyTo(
  port: number,
  setup: TestProxyOptions = {},
  revision: Partial<Revision> = {},
): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute({ backendPort: port, revision }), setup);
  closers.push(() => proxy.close());
  return proxy;
}

async function origin(): Promise<number> {
  const started = await startOrigin();
  closers.push(() => started.close());
  return started.port;
}

const get = (proxy: TestProxy, headers = ''): Promise<RawResponse> =>
  sendRaw(proxy.port, `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`);

const codeOf = ({ body }: RawResponse): string => JSON.parse(body).code;

const named = { backend_host: 'backend.example' };

/** Answers with these in turn, the last one for ever. */
function resolving(...turns: string[][]): TestProxyOptions {
  let nowMs = 0;
  return {
    resolverClock: () => (nowMs += 60_000),
    resolve: async () => {
      const addresses = turns.length > 1 ? (turns.shift() ?? []) : (turns[0] ?? []);
      return addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    upstreamAgeMsMax: 0,
  };
}

describe('a backend given by name', () => {
  it.each([
    ['a metadata service', '169.254.169.254'],
    ['the same in IPv6', '::ffff:169.254.169.254'],
    ['a link-local address', 'fe80::1'],
  ])('is not connected to when it is %s', async (_what, address) => {
    const proxy = await proxyTo(80, resolving([address]), named);
    const response = await get(proxy);
    expect([response.status, codeOf(response)]).toEqual([502, 'upstream_denied']);
    expect(proxy.failures).toEqual(['denied']);
  });

  it('is not connected to when its address has changed to a denied one since it was last used', async () => {
    const port = await origin();
    const proxy = await proxyTo(port, resolving(['127.0.0.1'], ['169.254.169.254']), named);
    expect((await get(proxy)).status).toBe(200);
    expect(codeOf(await get(proxy))).toBe('upstream_denied');
  });

  it('is connected to at the address that is permitted, where it has several', async () => {
    const proxy = await proxyTo(await origin(), resolving(['169.254.169.254', '127.0.0.1']), named);
    expect((await get(proxy)).status).toBe(200);
  });

  it('is denied by its own name and by the addresses of the name', async () => {
    const port = await origin();
    const lists: [readonly string[], readonly string[], number][] = [
      [[], ['*.example'], 502],
      [[], ['127.0.0.0/8'], 502],
      [['other.example'], [], 502],
      [['backend.example'], [], 200],
      [['127.0.0.1'], [], 200],
    ];
    for (const [allow, deny, status] of lists) {
      const proxy = await proxyTo(
        port,
        { ...resolving(['127.0.0.1']), egress: { allow, deny, unixSocketsFrom: [] } },
        named,
      );
      expect((await get(proxy)).status, JSON.stringify([allow, deny])).toBe(status);
    }
  });

  it('is denied when it leads to the listener of the gateway itself, and the breaker does not count that', async () => {
    const proxy = await proxyTo(1, resolving(['127.0.0.1']), named);
    const own = { ...named, backend_port: proxy.port, circuit_breaker: { failures: 1 } };
    proxy.apply({ ...oneRoute({ backendPort: proxy.port, revision: own }), configVersion: 2 });
    for (let turn = 0; turn < 3; turn++) expect(codeOf(await get(proxy))).toBe('upstream_denied');
    expect(proxy.breakerOf('rev-1').status.state).toBe('closed');
  });

  it('is denied for its tunnels, with TLS and for its health checks, too', async () => {
    const proxy = await proxyTo(80, resolving(['169.254.169.254']), named);
    const tunnel = await get(proxy, 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
    expect(codeOf(tunnel)).toBe('upstream_denied');
    const backend = compileBackend(revisionOf('v', 80, named));
    expect(await probe(backend, '/', PROBE_DEFAULTS, proxy.pool, proxy.context.clock)).toMatchObject({
      ok: false,
      error: expect.stringContaining('cloud metadata'),
    });
    const secure = { ...named, backend_scheme: 'https' as const };
    const proxyTls = await proxyTo(443, resolving(['169.254.169.254']), secure);
    expect(codeOf(await get(proxyTls))).toBe('upstream_denied');
  });
});

describe('loops', () => {
  /** A gateway whose backend is the gateway itself, by a way that it cannot see. */
  async function circle(setup: TestProxyOptions = {}): Promise<TestProxy> {
    const proxy = await proxyTo(1, setup);
    const relay = await startTcpRelay(proxy.port);
    closers.push(() => relay.close());
    const backend = {
      backendPort: relay.port,
      revision: {
        strip_gateway_path: false,
        ...(setup.tls && { backend_scheme: 'https' as const, backend_tls: { verify: false } }),
      },
    };
    proxy.apply({ ...oneRoute(backend), configVersion: 2 });
    return proxy;
  }

  it('a request that comes back is answered 508', async () => {
    const response = await get(await circle());
    expect([response.status, codeOf(response)]).toEqual([508, 'loop_detected']);
  });

  it('also one that came with HTTP/2', async () => {
    const proxy = await circle({ tls: TLS_PAIR });
    const client = await connectHttp2(proxy.port);
    closers.push(() => client.close());
    const response = await requestHttp2(client, { ':path': '/a/v1/x' });
    expect([response.status, JSON.parse(response.body.toString()).code]).toEqual([508, 'loop_detected']);
    const straight = await requestHttp2(client, { ':path': '/a/v1/x', via: '1.1 a, 2.0 headgate-test' });
    expect(straight.status).toBe(508);
  });

  it('two gateways in a row with different names are not a loop, whatever else Via contains', async () => {
    const inner = await proxyTo(await origin(), { viaName: 'headgate-inner' }, { strip_gateway_path: false });
    const outer = await proxyTo(inner.port, { viaName: 'headgate-outer' }, { strip_gateway_path: false });
    const response = await get(outer, 'Via: 1.1 headgate, 1.1 headgate-other\r\n');
    expect(response.status).toBe(200);
    expect(JSON.parse(response.body).headers.via).toBe(
      '1.1 headgate, 1.1 headgate-other, 1.1 headgate-outer, 1.1 headgate-inner',
    );
  });
});
