/**
 * Storms: random clients against a random backend, over plain TCP or over TLS on both sides, and what is left of them.
 * What is random comes from the seed, when it happens does not: a failure may need several runs to show again.
 */
import { Random } from '../fuzz/random.ts';
import { TLS_PAIR } from '../support/clients/http2-client.ts';
import { oneRoute, startProxy, type TestProxy } from '../support/proxy.ts';
import { startStormBackend, type StormBackend } from '../support/backends/storm-backend.ts';
import { plainClient, stormClient, type StormOptions } from '../support/clients/storm-client.ts';

const CLIENTS_AT_ONCE = 40;
const CLIENTS = 150;
/** After the storm, late misbehaviour of connections that are idle by now. */
const SETTLE_MS = 150;
const PLAIN_EXCHANGES = 200;
const PLAIN_CLIENTS = 10;
const SETTLED_MS_MAX = 5_000;

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** What a storm must leave behind. */
export const CALM = {
  violations: [] as string[],
  defects: [] as unknown[],
  /** Requests that reached the backend more often than they may. */
  twice: [] as (readonly [id: string, count: number])[],
  plain: PLAIN_EXCHANGES,
  notEnded: 0,
  endedTwice: 0,
  connections: 0,
  socketsNotInPool: 0,
  enoughAnswers: true,
  /** Misbehaviour that did not occur. */
  missed: [] as string[],
};
export type StormOutcome = typeof CALM;

interface Counts {
  started: number;
  ended: number;
  endedTwice: number;
}

async function startGateway(
  backend: StormBackend,
  secure: boolean,
): Promise<{ readonly proxy: TestProxy; readonly counts: Counts }> {
  const counts: Counts = { started: 0, ended: 0, endedTwice: 0 };
  const seen = new WeakSet();
  // Handshakes take the time of the one thread that all sides share: the well-behaved must not be late for them.
  const patience = secure ? 3 : 1;
  const proxy = await startProxy(
    oneRoute({
      backendPort: backend.port,
      revision: {
        circuit_breaker: { failures: 1_000_000 },
        ...(secure ? { backend_scheme: 'https', backend_tls: { verify: false } } : {}),
      },
    }),
    {
      ...(secure ? { tls: TLS_PAIR } : {}),
      options: {
        headTimeoutMs: 600 * patience,
        keepaliveTimeoutMs: 600 * patience,
        connectTimeoutMs: 2_000 * patience,
        firstByteTimeoutMs: 600 * patience,
        idleTimeoutMs: 500 * patience,
      },
      observer: {
        exchangeEnded: (exchange) => {
          counts.ended += 1;
          if (seen.has(exchange)) counts.endedTwice += 1;
          seen.add(exchange);
        },
      },
    },
  );
  // Every exchange takes one id when it starts.
  const nextRequestId = proxy.context.nextRequestId.bind(proxy.context);
  Object.assign(proxy.context, {
    nextRequestId: (): string => {
      counts.started += 1;
      return nextRequestId();
    },
  });
  return { proxy, counts };
}

/** One storm from that seed; `secure`: over TLS on both sides. */
export async function storm(seed: number, secure: boolean): Promise<StormOutcome> {
  const backend = await startStormBackend(seed, secure ? TLS_PAIR : undefined);
  const { proxy, counts } = await startGateway(backend, secure);
  try {
    return await stormThrough(proxy, backend, counts, seed, secure);
  } finally {
    await proxy.close();
    await backend.close();
  }
}

async function stormThrough(
  proxy: TestProxy,
  backend: StormBackend,
  counts: Counts,
  seed: number,
  secure: boolean,
): Promise<StormOutcome> {
  const violations: string[] = [];
  let lastId = 0;
  const methods = new Map<string, string>();
  const options: StormOptions = {
    port: proxy.port,
    secure,
    violations,
    nextId: (method) => {
      const id = `i${(lastId += 1)}`;
      methods.set(id, method);
      return id;
    },
  };
  let begun = 0;
  let whole = 0;
  const some = async (): Promise<void> => {
    while (begun < CLIENTS) {
      begun += 1;
      const result = await stormClient(new Random(seed + begun * 7_919), options);
      whole += result.whole;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS_AT_ONCE }, some));
  const twice = [...backend.arrivals].filter(([id, count]) => count > (isOnce(methods.get(id)) ? 1 : 2));
  await pause(SETTLE_MS);
  const statuses = await plainExchanges(options);
  await settled(() => proxy.listener.connectionCount === 0);
  await settled(() => backend.openSockets() === proxy.pool.idleCount);
  return {
    violations: [...violations, ...backend.violations],
    defects: proxy.defects,
    twice,
    plain: statuses.filter((status) => status === 200).length,
    notEnded: counts.started - counts.ended,
    endedTwice: counts.endedTwice,
    connections: proxy.listener.connectionCount,
    socketsNotInPool: backend.openSockets() - proxy.pool.idleCount,
    // Else the storm would prove nothing.
    enoughAnswers: whole > CLIENTS / 3,
    missed: backend.missed(),
  };
}

function isOnce(method: string | undefined): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** Well-behaved exchanges on a few connections, each in its turn. */
async function plainExchanges(options: StormOptions): Promise<number[]> {
  const each = PLAIN_EXCHANGES / PLAIN_CLIENTS;
  const results = await Promise.all(Array.from({ length: PLAIN_CLIENTS }, () => plainClient(each, options)));
  return results.flatMap(({ statuses }) => statuses);
}

/** Waits until `look` holds, but not for ever. */
export async function settled(look: () => boolean): Promise<void> {
  const endMs = performance.now() + SETTLED_MS_MAX;
  while (!look() && performance.now() < endMs) await pause(10);
}
