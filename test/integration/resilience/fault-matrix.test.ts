/**
 * Everything that a backend can do wrong, one after the other (docs/reference/backend-faults.md): what clients
 * get, that a POST reached the backend at most once, and that hundreds of exchanges after it through the same gateway,
 * over the same pool of connections, are right. What is random about such faults is in engine/pool-safety.test.ts.
 */
// oxlint-disable vitest/expect-expect -- expectRefusal is an assertion
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { Revision } from '../../../src/model/resources.ts';
import { startBlackHole } from '../../support/backends/black-hole.ts';
import {
  FAULTS,
  FAULT_TIMEOUTS,
  startFaultBackend,
  type Fault,
  type FaultBackend,
  type FaultRequest,
} from '../../support/backends/fault-backend.ts';
import {
  goodExchanges,
  goodExchangesHttp2,
  meetFault,
  meetFaultHttp2,
  newRequest,
  type Seen,
} from '../../support/clients/fault-clients.ts';
import { CA, connectHttp2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import {
  oneRoute,
  revisionOf,
  startProxy,
  type TestProxy,
  type TestProxyOptions,
} from '../../support/proxy.ts';
import { pem } from '../../support/data/pem.ts';
import type { Certificate } from '../../support/backends/socket-server.ts';
import { steadily } from '../../support/measure/steady.ts';

const GOOD_EXCHANGES = 300;
const AT_ONCE = 3;
const METHODS = ['GET', 'POST'] as const;

const closers = closeAfterEach();

async function faultBackend(fault: Fault | undefined, certificate?: Certificate): Promise<FaultBackend> {
  const backend = await startFaultBackend(fault, certificate);
  closers.push(() => backend.close());
  return backend;
}

const STEADY = { circuit_breaker: { failures: 1_000_000 } };

/** `/a/v1` is the place of the fault, `/a/v2` the one of the exchanges after it. */
async function gateway(
  faulty: Partial<Revision> & { readonly backend_port: number },
  good: Partial<Revision> & { readonly backend_port: number } = { ...faulty, default_policy: null },
  options: TestProxyOptions = {},
): Promise<TestProxy> {
  const change = oneRoute({ backendPort: faulty.backend_port, revision: { ...STEADY, ...faulty } });
  const [app] = change.apps;
  const [first] = app?.versions ?? [];
  if (app === undefined || first === undefined) throw new Error('no version');
  const second = {
    version: { ...first.version, id: 'ver-2', version: 'v2', gateway_path: '/a/v2' },
    revisions: [
      {
        revision: revisionOf('ver-2', good.backend_port, { ...STEADY, ...good, id: 'rev-2' }),
        endpoints: [],
      },
    ],
  };
  const proxy = await startProxy({ ...change, apps: [{ app: app.app, versions: [first, second] }] }, options);
  closers.push(() => proxy.close());
  return proxy;
}

interface Met {
  readonly GET: readonly Seen[];
  readonly POST: readonly Seen[];
  /** How often requests of each method arrived, each of them. */
  readonly arrivals: { readonly GET: readonly number[]; readonly POST: readonly number[] };
}

/** Some requests of each method, at once where nothing comes late. */
async function meet(
  backend: FaultBackend | undefined,
  send: (faulty: FaultRequest) => Promise<Seen>,
  lateMs = 0,
): Promise<Met> {
  const all = METHODS.map((method) => Array.from({ length: AT_ONCE }, () => newRequest(method)));
  const seen = new Map<FaultRequest, Seen>();
  const sendOne = async (faulty: FaultRequest): Promise<void> => void seen.set(faulty, await send(faulty));
  if (lateMs === 0) await Promise.all(all.flat().map(sendOne));
  else {
    for (const faulty of all.flat()) {
      await sendOne(faulty);
      await pause(5 * lateMs);
    }
  }
  const [gets = [], posts = []] = all;
  const outcomes = (some: readonly FaultRequest[]) => some.map((faulty) => seen.get(faulty) ?? 'cut');
  const arrivals = (some: readonly FaultRequest[]) => some.map(({ id }) => backend?.arrivals.get(id) ?? 0);
  return {
    GET: outcomes(gets),
    POST: outcomes(posts),
    arrivals: { GET: arrivals(gets), POST: arrivals(posts) },
  };
}

const times = <T>(value: T): T[] => Array.from({ length: AT_ONCE }, () => value);

/** What the table says of a fault on a connection that is new. */
const expectedOf = ({ outcome, isRetried }: Fault): Met => ({
  GET: times(outcome),
  POST: times(outcome),
  arrivals: { GET: times(isRetried ? 2 : 1), POST: times(1) },
});

/** The time for what concerns it. */
const timedOf = ({ isTimed }: { readonly isTimed?: true }): Pick<Revision, 'default_policy'> => ({
  default_policy: isTimed === true ? { timeouts: FAULT_TIMEOUTS } : null,
});

async function expectRightAfterwards(proxy: TestProxy): Promise<void> {
  expect(await goodExchanges(proxy.port, GOOD_EXCHANGES)).toEqual([]);
  expect(proxy.defects).toEqual([]);
}

/** A fault that a deadline ends says nothing where the machine stood still for as long. */
const timed =
  (test: (fault: Fault) => Promise<void>) =>
  (fault: Fault): Promise<void> =>
    (fault.isTimed === true ? steadily(test) : test)(fault);

const ON_NEW = FAULTS.filter(({ onReuse }) => onReuse !== true);
const ON_REUSE = FAULTS.filter(({ onReuse }) => onReuse === true);

describe('what a backend answers', () => {
  it.each(ON_NEW)(
    '$name',
    timed(async (fault) => {
      const backend = await faultBackend(fault);
      const proxy = await gateway({ backend_port: backend.port, ...timedOf(fault) });
      const met = await meet(backend, (faulty) => meetFault(proxy.port, faulty), fault.lateMs);
      expect(met).toEqual(expectedOf(fault));
      expect(new Set(proxy.failures)).toEqual(new Set(fault.cause === undefined ? [] : [fault.cause]));
      // Whatever is a failure counts for the circuit breaker, and nothing else does.
      const breaker = proxy.breakerOf('rev-1')?.view(0);
      expect(breaker?.consecutive_failures).toBe(fault.cause === undefined ? 0 : METHODS.length * AT_ONCE);
      await expectRightAfterwards(proxy);
    }),
  );

  it.each(ON_REUSE)('$name', async (fault) => {
    const backend = await faultBackend(fault);
    const proxy = await gateway({ backend_port: backend.port });
    // As many idle connections as requests will come.
    expect(await goodExchanges(proxy.port, 100)).toEqual([]);
    expect(proxy.pool.idleCount).toBeGreaterThanOrEqual(2 * AT_ONCE);
    const met = await meet(backend, (faulty) => meetFault(proxy.port, faulty));
    // A GET finds a new connection, on which it is the first request. A POST is not sent twice.
    expect(met).toEqual({
      GET: times('whole'),
      POST: times(502),
      arrivals: { GET: times(2), POST: times(1) },
    });
    expect(proxy.repeated).toEqual(times('reset'));
    await expectRightAfterwards(proxy);
  });
});

describe('the same, over TLS to the backend', () => {
  const secure = { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } } as const;
  const some = /^(?:reset (?:before|within the)|closed before|a chunk that|a second response behind)/;
  it.each(ON_NEW.filter(({ name }) => some.test(name)))('$name', async (fault) => {
    const backend = await faultBackend(fault, TLS_PAIR);
    const proxy = await gateway({ backend_port: backend.port, ...secure });
    const met = await meet(backend, (faulty) => meetFault(proxy.port, faulty), fault.lateMs);
    expect(met).toEqual(expectedOf(fault));
    await expectRightAfterwards(proxy);
  });
});

describe('the same, to clients of HTTP/2', () => {
  it.each(ON_NEW)(
    '$name',
    timed(async (fault) => {
      const backend = await faultBackend(fault);
      const route = { backend_port: backend.port, ...timedOf(fault) };
      const proxy = await gateway(route, undefined, { tls: TLS_PAIR });
      const client = await connectHttp2(proxy.port);
      closers.unshift(() => client.close());
      const met = await meet(backend, (faulty) => meetFaultHttp2(client, faulty), fault.lateMs);
      expect(met).toEqual(expectedOf(fault));
      // On the same connection: a stream that was cut off says nothing about the others.
      expect(await goodExchangesHttp2(client, 100)).toEqual([]);
      expect(proxy.defects).toEqual([]);
    }),
  );
});

describe('a connection that does not come about', () => {
  async function expectRefusal(proxy: TestProxy, cause: string): Promise<void> {
    const met = await meet(undefined, (faulty) => meetFault(proxy.port, faulty));
    expect([met.GET, met.POST]).toEqual([times(502), times(502)]);
    expect(new Set(proxy.failures)).toEqual(new Set([cause]));
    await expectRightAfterwards(proxy);
  }

  it('refused', async () => {
    const good = await faultBackend(undefined);
    const proxy = await gateway({ backend_port: await freePort() }, { backend_port: good.port });
    await expectRefusal(proxy, 'connect');
    // Nothing was sent, so that also a POST may try again.
    expect(proxy.repeated).toEqual([...times('connect'), ...times('connect')]);
  });

  it('a black hole', async () => {
    const good = await faultBackend(undefined);
    const hole = await startBlackHole();
    closers.push(() => hole.close());
    const route = { backend_port: hole.port, ...timedOf({ isTimed: true }) };
    const proxy = await gateway(route, { backend_port: good.port });
    await expectRefusal(proxy, 'connect_timeout');
  });

  it.each<[string, string, Certificate | 'silent' | 'closes' | 'resets', Partial<Revision>]>([
    ['a certificate of an unknown authority', 'tls', TLS_PAIR, {}],
    [
      'a certificate that has expired',
      'tls',
      { cert: pem('expired.pem'), key: pem('expired-key.pem') },
      { backend_tls: { ca: pem('expired.pem') } },
    ],
    [
      'a certificate for another name',
      'tls',
      { cert: pem('other.pem'), key: pem('other-key.pem') },
      { backend_tls: { ca: CA } },
    ],
    ['a handshake that stands still', 'connect_timeout', 'silent', { backend_tls: { ca: CA } }],
    ['a connection that is closed during the handshake', 'connect', 'closes', { backend_tls: { ca: CA } }],
    ['a connection that is reset during the handshake', 'connect', 'resets', { backend_tls: { ca: CA } }],
  ])('%s', async (_name, cause, behaviour, revision) => {
    const good = await faultBackend(undefined);
    const backend =
      typeof behaviour === 'string' ? await handshakeOf(behaviour) : await faultBackend(undefined, behaviour);
    const faulty = {
      backend_port: backend.port,
      backend_scheme: 'https',
      backend_host: 'localhost',
      ...revision,
      ...(behaviour === 'silent' ? timedOf({ isTimed: true }) : {}),
    } as const;
    const proxy = await gateway(faulty, { backend_port: good.port });
    await expectRefusal(proxy, cause);
    // No request has come through such a connection.
    if ('arrivals' in backend) expect(backend.arrivals.size).toBe(0);
  });

  async function handshakeOf(behaviour: 'silent' | 'closes' | 'resets') {
    const origin = await startRawOrigin((socket) => {
      if (behaviour === 'closes') socket.end();
      else if (behaviour === 'resets') socket.resetAndDestroy();
    });
    closers.push(() => origin.close());
    return origin;
  }
});
