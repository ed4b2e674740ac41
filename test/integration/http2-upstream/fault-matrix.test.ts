/**
 * The matrix of resilience/fault-matrix.test.ts for backends of HTTP/2, to requests and to calls of gRPC: what clients
 * get, how often their requests arrive, and that the next exchanges through the same gateway are right.
 */
// oxlint-disable vitest/expect-expect -- matrix is an assertion
import { once } from 'node:events';
import * as http2 from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Revision } from '../../../src/model/resources.ts';
import { FAULT_TIMEOUTS } from '../../support/backends/fault-backend.ts';
import { goaway, HTTP2_FAULTS, type Http2Fault } from '../../support/backends/http2-faults.ts';
import { startHttp2FaultBackend } from '../../support/backends/fault-backend-http2.ts';
import { startHttp2Backend } from '../../support/backends/http2-backend.ts';
import { startSocketServer } from '../../support/backends/socket-server.ts';
import { FRAME, frame, headers } from '../../support/clients/http2-frames.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import {
  goodCalls,
  goodExchanges,
  meetFault,
  meetFaultCall,
  newRequest,
  type Seen,
} from '../../support/clients/fault-clients.ts';
import { CA, connectHttp2, request, TLS_PAIR, type Http2Client } from '../../support/clients/http2-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { steadily } from '../../support/measure/steady.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, revisionOf, startProxy, type TestProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();

const AT_ONCE = 2;
const KINDS = ['GET', 'POST', 'call'] as const;
type Kind = (typeof KINDS)[number];

/** `/a/v1` is the place of the fault, `/a/v2` the one of the exchanges after it, on the same connections. */
async function start(
  port: number,
  revision: Partial<Revision> = {},
): Promise<{ readonly proxy: TestProxy; readonly client: Http2Client }> {
  const shared = { backend_protocol: 'h2', circuit_breaker: { failures: 1_000_000 }, ...revision } as const;
  const change = oneRoute({ backendPort: port, revision: shared });
  const [app] = change.apps;
  const [first] = app?.versions ?? [];
  if (app === undefined || first === undefined) throw new Error('no version');
  const good = revisionOf('ver-2', port, { ...shared, id: 'rev-2', default_policy: null });
  const second = {
    version: { ...first.version, id: 'ver-2', version: 'v2', gateway_path: '/a/v2' },
    revisions: [{ revision: good, endpoints: [] }],
  };
  const proxy = await startProxy(
    { ...change, apps: [{ app: app.app, versions: [first, second] }] },
    { h2c: true },
  );
  closers.push(() => proxy.close());
  const client = await connectHttp2(proxy.port, { isPlain: true });
  closers.unshift(() => client.close());
  return { proxy, client };
}

interface Met {
  readonly seen: readonly Seen[];
  readonly arrivals: readonly number[];
}

/** Some exchanges of one kind, at once unless each of them ends its connection. */
async function meet(
  { proxy, client }: { readonly proxy: TestProxy; readonly client: Http2Client },
  arrivals: ReadonlyMap<string, number>,
  kind: Kind,
  { isAlone, isTimed }: Http2Fault,
): Promise<Met> {
  const all = Array.from({ length: AT_ONCE }, () => newRequest(kind === 'GET' ? 'GET' : 'POST'));
  const send = (one: (typeof all)[number]): Promise<Seen> =>
    kind === 'call' ? meetFaultCall(client, one) : meetFault(proxy.port, one);
  const seen: Seen[] = [];
  if (isAlone !== true) seen.push(...(await Promise.all(all.map(send))));
  else {
    for (const one of all) {
      seen.push(await send(one));
      await pause(isTimed === true ? 300 : 10);
    }
  }
  return { seen, arrivals: all.map(({ id }) => arrivals.get(id) ?? 0) };
}

const times = <T>(value: T): T[] => Array.from({ length: AT_ONCE }, () => value);

function expectedOf(fault: Http2Fault, kind: Kind): Met {
  const outcome = kind === 'call' ? (fault.callOutcome ?? fault.outcome) : fault.outcome;
  const again: unknown = fault.isRetried === 'maybe' ? expect.toBeOneOf([1, 2]) : fault.isRetried ? 2 : 1;
  return {
    seen: times(outcome),
    arrivals: times(fault.arrivals ?? (kind === 'GET' ? again : 1)) as number[],
  };
}

const policyOf = ({ isTimed }: Pick<Http2Fault, 'isTimed'>): Pick<Revision, 'default_policy'> => ({
  default_policy: isTimed === true ? { timeouts: FAULT_TIMEOUTS } : null,
});

async function expectRightAfterwards(proxy: TestProxy, client: Http2Client): Promise<void> {
  expect(await goodExchanges(proxy.port, 100)).toEqual([]);
  expect(await goodCalls(client, 20)).toEqual([]);
  expect(proxy.defects).toEqual([]);
  await untilHolds(() => proxy.context.exchangeLimiter.inUse === 0, 'the end of all exchanges');
}

async function matrix(fault: Http2Fault, secure?: Partial<Revision>): Promise<void> {
  const backend = await startHttp2FaultBackend(fault, secure && TLS_PAIR);
  closers.push(() => backend.close());
  const started = await start(backend.port, { ...policyOf(fault), ...secure });
  const met: Partial<Record<Kind, Met>> = {};
  const meetAs = async (kind: Kind) => void (met[kind] = await meet(started, backend.arrivals, kind, fault));
  if (fault.isAlone === true) for (const kind of KINDS) await meetAs(kind);
  else await Promise.all(KINDS.map(meetAs));
  expect(met).toEqual(Object.fromEntries(KINDS.map((kind) => [kind, expectedOf(fault, kind)])));
  const { proxy, client } = started;
  expect(fault.cause?.split(' or ') ?? []).toEqual(expect.arrayContaining([...new Set(proxy.failures)]));
  const breaker = proxy.breakerOf('rev-1').view(0);
  expect(breaker.consecutive_failures).toBe(fault.cause === undefined ? 0 : KINDS.length * AT_ONCE);
  await expectRightAfterwards(proxy, client);
}

const timed =
  (test: (fault: Http2Fault) => Promise<void>) =>
  (fault: Http2Fault): Promise<void> =>
    (fault.isTimed === true ? steadily(test) : test)(fault);

describe('what a backend answers over HTTP/2', () => {
  it.each(HTTP2_FAULTS)(
    '$name',
    timed((fault) => matrix(fault)),
  );
});

describe('the same, over TLS', () => {
  const secure = { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } } as const;
  const some = /^(?:closed (?:before|within the body)|RST_STREAM within the body|GOAWAY below)/;
  it.each(HTTP2_FAULTS.filter(({ name }) => some.test(name)))('$name', (fault) => matrix(fault, secure));
});

describe('a connection of HTTP/2 that does not come about', () => {
  const secure = { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } } as const;
  const speaks: (socket: Socket) => void = (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');

  async function origin(accept: (socket: Socket) => void): Promise<number> {
    const server = await startRawOrigin(accept);
    closers.push(() => server.close());
    return server.port;
  }

  it.each<[string, string, () => Promise<number>, Partial<Revision>]>([
    ['refused', 'connect', () => freePort(), {}],
    ['closed at once', 'connect', () => origin((socket) => socket.end()), {}],
    ['reset at once', 'connect', () => origin((socket) => socket.resetAndDestroy()), {}],
    ['HTTP/1.1 on its port', 'connect', () => origin(speaks), {}],
    [
      'no SETTINGS',
      'connect_timeout',
      () => origin(() => undefined),
      { default_policy: { timeouts: FAULT_TIMEOUTS } },
    ],
    ['no TLS', 'tls', () => origin((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')), secure],
    [
      'TLS without HTTP/2',
      'tls',
      async () => {
        const server = await startSocketServer(() => undefined, TLS_PAIR, ['http/1.1']);
        closers.push(() => server.close());
        return server.port;
      },
      secure,
    ],
  ])('%s', async (_name, cause, portOf, revision) => {
    const started = await start(await portOf(), revision);
    for (const kind of KINDS) {
      const one = newRequest(kind === 'GET' ? 'GET' : 'POST');
      const { proxy, client } = started;
      const seen = await (kind === 'call' ? meetFaultCall(client, one) : meetFault(proxy.port, one));
      expect([kind, seen]).toEqual([kind, 502]);
    }
    expect(new Set(started.proxy.failures)).toEqual(new Set([cause]));
    expect(started.proxy.defects).toEqual([]);
  });
});

describe('nothing is poisoned', () => {
  /** Requests that are under way on the connection on which another one meets its fault. */
  it.each([
    ['a stream that is reset', /^RST_STREAM within the body/],
    ['a malformed head', /^a head without :status/],
    ['trailers that are malformed', /^a pseudo-field in trailers/],
    ['GOAWAY below others', /^GOAWAY below the request/],
  ])('by %s', async (_name, wanted) => {
    const fault = HTTP2_FAULTS.find(({ name }) => wanted.test(name));
    if (fault === undefined) throw new Error('no such fault');
    const backend = await startHttp2FaultBackend(fault);
    closers.push(() => backend.close());
    const { proxy, client } = await start(backend.port);
    const outcomes = await Promise.all([
      goodExchanges(proxy.port, 200),
      goodCalls(client, 50),
      meetFaultCall(client, newRequest('POST')),
      goodExchanges(proxy.port, 100),
      meetFault(proxy.port, newRequest('GET')),
      goodCalls(client, 50),
    ]);
    expect(outcomes).toEqual([[], [], fault.outcome, [], fault.outcome, []]);
    expect(proxy.defects).toEqual([]);
  });

  /** Of each connection: the eighth. */
  const LAST_STREAM = 15;
  it('a storm of GOAWAY loses no call', async () => {
    const calm = /^frames of unknown types/;
    const whole = HTTP2_FAULTS.find(({ name }) => calm.test(name));
    const backend = await startHttp2FaultBackend({
      misbehave: (peer, call) => {
        whole?.misbehave(peer, call);
        if (peer.stream === LAST_STREAM) peer.send(goaway(LAST_STREAM, 0));
      },
    });
    closers.push(() => backend.close());
    const { proxy, client } = await start(backend.port);
    for (let round = 0; round < 10; round++) {
      const calls = Array.from({ length: 20 }, () => meetFaultCall(client, newRequest('POST')));
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['whole']));
    }
    expect(backend.connections()).toBeGreaterThan(10);
    expect(proxy.failures).toEqual([]);
  });

  it('a backend that ignores the window of a response is cut off, and holds no memory', async () => {
    const full = frame(FRAME.data, 0, 1, Buffer.alloc(16_384));
    const backend = await startHttp2FaultBackend({
      misbehave: (peer) => {
        const { socket, stream } = peer;
        peer.send(headers(stream, [[':status', '200']], 0));
        full.writeUInt32BE(stream, 5);
        const pour = (): void => {
          if (socket.destroyed) return;
          if (socket.write(full)) setImmediate(pour);
          else socket.once('drain', pour);
        };
        pour();
      },
    });
    closers.push(() => backend.close());
    const { proxy, client } = await start(backend.port);
    const deaf = await connectRaw(proxy.port);
    closers.unshift(() => deaf.socket.destroy());
    deaf.socket.pause();
    deaf.write('GET /a/v1/fault/deaf HTTP/1.1\r\nHost: a\r\n\r\n');
    await untilHolds(() => proxy.failures.length > 0, 'the end of the connection', 20_000);
    expect(['bad_response', 'reset']).toContain(proxy.failures[0]);
    // The backend pours on, until the connection is closed: requests that come meanwhile are not on it.
    const endsAtMs = Date.now() + 3_000;
    while (Date.now() < endsAtMs) expect(await goodExchanges(proxy.port, 20)).toEqual([]);
    await expectRightAfterwards(proxy, client);
  });
});

describe('a body that is still to come', () => {
  /** The client sends the end of its body only when the backend has refused the first attempt. */
  it('goes to another stream with all of it, when the backend has not looked at the first part', async () => {
    let refused = 0;
    const bodies: string[] = [];
    const backend = await startHttp2Backend((stream) => {
      refused += 1;
      if (refused < 3) return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
      let body = '';
      stream.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
      stream.on('end', () => {
        bodies.push(body);
        stream.respond({ ':status': 200 });
        stream.end('fine');
      });
    });
    closers.push(() => backend.close());
    const { proxy, client } = await start(backend.port);
    const fields = { ':method': 'POST', ':path': '/a/v1/x', ':authority': 'localhost' };
    const stream = client.session.request(fields, { endStream: false });
    let text = '';
    stream.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    const closed = once(stream, 'close');
    stream.write('first ');
    await untilHolds(() => refused === 3, 'the third attempt');
    stream.write('second ');
    stream.end('third');
    await closed;
    expect([text, bodies]).toEqual(['fine', ['first second third']]);
    expect(proxy.repeated).toEqual(['unsent', 'unsent']);
    await untilHolds(() => proxy.context.requestMemory.bytes === 0, 'the release of what was kept');
  });

  it('is not sent again when it is too long to be kept', async () => {
    const backend = await startHttp2Backend((stream) => {
      let bytes = 0;
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > 100_000) stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
      });
    });
    closers.push(() => backend.close());
    const { proxy, client } = await start(backend.port);
    const fields = { ':method': 'POST', ':path': '/a/v1/x', ':authority': 'localhost' };
    const { status } = await request(client, fields, { body: Buffer.alloc(200_000) });
    expect(status).toBe(502);
    expect(proxy.repeated).toEqual([]);
    expect(proxy.context.requestMemory.bytes).toBe(0);
  });
});
