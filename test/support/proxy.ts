/**
 * The traffic path of one worker inside the test's own process, with a configuration given as records: for tests
 * of the engine that need many small time-outs, or a look at what the proxy reports. Everything in it is the real
 * thing; only the thread and the management API are left out.
 */
import type { Tracing } from '../../src/proxy/tracing/exchange-trace.ts';
import { lookup } from 'node:dns/promises';
import { Egress, type EgressLists } from '../../src/egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../src/egress/own-listeners.ts';
import { viaHops } from '../../src/http/fields/forwarded.ts';
import { httpDate, systemClock } from '../../src/lib/clock.ts';
import { requestIds } from '../../src/lib/ids.ts';
import { createLimitMemory } from '../../src/limits/local/memory.ts';
import { SharedConcurrencyStore } from '../../src/limits/concurrency.ts';
import { SharedMemoryLimitStore } from '../../src/limits/local/local-store.ts';
import type { ConfigChange, RevisionTree } from '../../src/model/config.ts';
import type { Policy } from '../../src/policy/registry.ts';
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../../src/model/resources.ts';
import { createPolicyCompilers } from '../../src/policy/compile-policy.ts';
import type { PolicyDependencies } from '../../src/policy/dependencies.ts';
import type { PolicyPart } from '../../src/policy/part.ts';
import type { CompiledPolicy } from '../../src/policy/stage.ts';
import { Breaker, createBreakerMemory } from '../../src/proxy/resilience/breaker.ts';
import type { ProxyObserver } from '../../src/proxy/interfaces/observer.ts';
import type { ProxyContext } from '../../src/proxy/interfaces/proxy-context.ts';
import { shares } from '../../src/proxy/interfaces/shared-parts.ts';
import { createExplain, type Explain } from '../../src/explain/explain.ts';
import { fixLookups } from '../../src/explain/fix.ts';
import { Deadlines } from '../../src/proxy/resilience/deadlines.ts';
import { ExchangeLimiter } from '../../src/proxy/exchange-limiter.ts';
import { UpstreamPermits } from '../../src/proxy/upstream/pool/permits.ts';
import { RequestMemory } from '../../src/proxy/io/request-memory.ts';
import { IncompleteHeads } from '../../src/proxy/downstream/incomplete-heads.ts';
import { WaitingClients } from '../../src/proxy/downstream/waiting-clients.ts';
import { Listener } from '../../src/proxy/downstream/accept/listener.ts';
import type { PortTls } from '../../src/proxy/downstream/accept/listening-port.ts';
import { createMatchResult } from '../../src/proxy/match.ts';
import { UPSTREAM_AGE_MAX_MS, type ProxyOptions } from '../../src/proxy/options.ts';
import type { CertificatePair } from '../../src/proxy/downstream/tls/tls-certificate.ts';
import { ClientCertificates } from '../../src/proxy/upstream/tls/backend-tls.ts';
import { UpstreamPool } from '../../src/proxy/upstream/pool/pool.ts';
import { RetryBudgets } from '../../src/proxy/resilience/retry-budget.ts';
import { targetsFor } from './three-targets.ts';
import { TargetRegistry } from '../../src/proxy/targets/target-registry.ts';
import { createLookup, type ResolverOptions } from '../../src/proxy/upstream/resolver.ts';
import { SnapshotHolder } from '../../src/config/holder.ts';
import { KeyTable } from '../../src/keys/key-table.ts';
import { CertificateRequests } from '../../src/proxy/downstream/tls/certificate-requests.ts';
import { TrustStore } from '../../src/x509/trust-store.ts';

const AT = '2026-01-01T00:00:00.000Z';
const base = (id: string) => ({ id, created_at: AT, updated_at: AT });

export const DEFAULT_OPTIONS: ProxyOptions = {
  maxHeadBytes: 32 * 1024,
  maxHeaders: 100,
  maxTargetBytes: 8 * 1024,
  maxBodyBytes: 0,
  headTimeoutMs: 10_000,
  minHeadBytesPerSec: 0,
  minHeadGraceMs: 3_000,
  keepaliveTimeoutMs: 75_000,
  connectTimeoutMs: 5_000,
  firstByteTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  minBodyBytesPerSec: 0,
  minBodyGraceMs: 5_000,
  halfClose: false,
  maxConcurrentExchanges: 10_000,
  maxConnections: 20_000,
  maxConnectionsPerIp: 0,
  ipv6PrefixBits: 64,
  maxUpstreamConnections: 0,
  maxUpstreamHttp2Streams: 100,
  maxUpstreamHttp2Connections: 16,
  maxUpstreamQueue: 1_024,
  httpsRedirectPort: undefined,
  http2Websockets: true,
  hstsSecs: 0,
  upstreamQueueTimeoutMs: 1_000,
};

export interface RouteSetup {
  readonly backendPort: number;
  readonly app?: Partial<App>;
  readonly version?: Partial<Version>;
  readonly revision?: Partial<Revision>;
  readonly endpoints?: readonly Partial<Endpoint>[];
  readonly policy?: Policy;
  readonly keys?: readonly StoredApiKey[];
}

/** One app at /a with version v1 at /a/v1 and one current revision. */
export function oneRoute(setup: RouteSetup): ConfigChange {
  const app: App = {
    ...base('app-1'),
    name: 'A',
    slug: 'a',
    gateway_path: '/a',
    routing_mode: 'pass_through',
    default_policy: setup.policy ?? null,
    description: null,
    labels: {},
    hosts: [],
    allow_encoded_slashes: false,
    ...setup.app,
  };
  const version: Version = {
    ...base('ver-1'),
    app_id: app.id,
    version: 'v1',
    gateway_path: `${app.gateway_path}/v1`,
    gateway_path_is_default: true,
    status: 'active',
    sunset_at: null,
    deprecated_at: null,
    successor: null,
    ...setup.version,
  };
  const revision = revisionOf(version.id, setup.backendPort, setup.revision);
  const endpoints = (setup.endpoints ?? []).map((endpoint, index): Endpoint => ({
    ...base(`end-${index}`),
    revision_id: revision.id,
    method: 'GET',
    path: '/',
    backend_path: null,
    policy_override: null,
    is_active: true,
    ...endpoint,
  }));
  const tree: RevisionTree = { revision, endpoints };
  return {
    configVersion: 1,
    reset: true,
    apps: [{ app, versions: [{ version, revisions: [tree] }] }],
    removedAppIds: [],
    versions: [],
    removedVersionIds: [],
    keys: setup.keys ?? [],
    removedKeyIds: [],
  };
}

export function revisionOf(versionId: string, port: number, changes: Partial<Revision> = {}): Revision {
  const revision: Revision = {
    ...base('rev-1'),
    version_id: versionId,
    revision: 'r1',
    backend_scheme: 'http',
    backend_protocol: 'http1',
    backend_host: '127.0.0.1',
    backend_port: port,
    backend_base_path: '/',
    strip_gateway_path: true,
    preserve_host: false,
    traffic_weight: 100,
    health_check_path: null,
    default_policy: null,
    is_current: true,
    backend_tls: null,
    circuit_breaker: null,
    targets: null,
    discovery: null,
    load_balancing: null,
    ...changes,
  };
  return { ...revision, targets: targetsFor(revision) ?? revision.targets };
}

export interface TestProxy {
  readonly port: number;
  readonly context: ProxyContext;
  readonly listener: Listener;
  readonly pool: UpstreamPool;
  /** Of a revision, by its id; made on first use. */
  breakerOf(id: string): Breaker;
  readonly failures: string[];
  /** Why attempts were made again, and what the budget did not allow. */
  readonly repeated: string[];
  readonly refusedRetries: string[];
  readonly defects: unknown[];
  readonly explain: Explain;
  apply(change: ConfigChange): void;
  startDraining(): void;
  close(): Promise<void>;
}

export interface TestProxyOptions {
  readonly options?: Partial<ProxyOptions>;
  readonly trustedProxies?: readonly string[];
  /** What client certificates are verified with. */
  readonly trust?: TrustStore;
  /** The certificate of a listener with TLS; several with `certificates`. */
  readonly tls?: CertificatePair;
  readonly certificates?: readonly CertificatePair[];
  /** True unless it is said to be false. */
  readonly http2?: boolean;
  /** HTTP/2 without TLS. */
  readonly h2c?: boolean;
  /** Connections of this machine begin with a PROXY header. */
  readonly proxyHeaders?: boolean;
  readonly upstreamIdleTimeoutMs?: number;
  readonly requestMemoryBytesMax?: number;
  readonly incompleteHeadBytesMax?: number;
  readonly upstreamAgeMsMax?: number;
  readonly egress?: EgressLists;
  /** Default: traces are not exported. */
  readonly tracing?: Tracing;
  readonly viaName?: string;
  /** In place of the system's resolver. */
  readonly resolve?: ResolverOptions['resolve'];
  readonly resolverClock?: () => number;
  readonly observer?: Partial<ProxyObserver>;
  readonly policy?: Partial<PolicyDependencies>;
  /** In place of those of the registry. */
  readonly parts?: readonly PolicyPart[];
}

function listenerTls({ tls, certificates, http2 = true }: TestProxyOptions): PortTls | undefined {
  const all = certificates ?? (tls === undefined ? undefined : [tls]);
  return all === undefined ? undefined : { certificates: all, http2 };
}

export async function startProxy(change: ConfigChange, setup: TestProxyOptions = {}): Promise<TestProxy> {
  const clock = systemClock;
  const deadlines = new Deadlines(clock);
  const ownListeners = new OwnListeners(createOwnPorts(), clock);
  const egress = new Egress(setup.egress ?? { allow: [], deny: [], unixSocketsFrom: [] }, ownListeners);
  const options = { ...DEFAULT_OPTIONS, ...setup.options };
  const pool = new UpstreamPool(deadlines, {
    egress,
    maxUpstreamHttp2Streams: options.maxUpstreamHttp2Streams,
    maxUpstreamHttp2Connections: options.maxUpstreamHttp2Connections,
    idleMax: 1_000,
    idleTimeoutMs: setup.upstreamIdleTimeoutMs ?? 55_000,
    clientCertificates: new ClientCertificates(),
    ageMsMax: setup.upstreamAgeMsMax ?? UPSTREAM_AGE_MAX_MS,
    lookup: createLookup({
      resolve: setup.resolve ?? ((host) => lookup(host, { all: true })),
      monotonicMs: setup.resolverClock ?? (() => clock.monotonicMs()),
      onFailure: () => undefined,
    }),
  });
  const keys = new KeyTable();
  const memory = createLimitMemory({ counterBytes: 2 ** 20 });
  const trust = setup.trust ?? new TrustStore();
  const dependencies: PolicyDependencies = {
    clock,
    limits: new SharedMemoryLimitStore(memory, 1),
    concurrency: new SharedConcurrencyStore(memory.concurrency, memory.hashKey, 1),
    keys,
    trust,
    jwtDefaults: {
      issuer: undefined,
      audiences: [],
      jwksUri: undefined,
      secret: undefined,
      algorithms: [],
      leewaySecs: 0,
    },
    globals: undefined,
    perIp: undefined,
    ipv6PrefixBits: 64,
    authFailuresPerMinute: 0,
    maxBodyBytes: setup.options?.maxBodyBytes ?? DEFAULT_OPTIONS.maxBodyBytes,
    egress,
    onAuth: () => undefined,
    onLimit: () => undefined,
    onJwksFailure: () => undefined,
    onJwksRecovery: () => undefined,
    onJwksKeySkipped: () => undefined,
    ...setup.policy,
  };
  const compilers = createPolicyCompilers(dependencies, setup.parts);
  const holder = new SnapshotHolder<CompiledPolicy>(compilers.compile, keys);
  holder.apply(change);
  const breakers = new Map<string, Breaker>();
  const failures: string[] = [];
  const repeated: string[] = [];
  const refusedRetries: string[] = [];
  const defects: unknown[] = [];
  let draining = false;
  const breakerById = (id: string): Breaker => {
    let breaker = breakers.get(id);
    if (breaker === undefined) breakers.set(id, (breaker = new Breaker(createBreakerMemory())));
    return breaker;
  };
  const targets = new TargetRegistry(0, () => clock.nowMs());
  const incompleteHeads = new IncompleteHeads(
    setup.incompleteHeadBytesMax ?? 64 * 1024 * 1024,
    () => undefined,
  );
  const context: ProxyContext = {
    options,
    clock,
    deadlines,
    pool,
    egress,
    via: viaHops(setup.viaName ?? 'headgate-test'),
    permits: new UpstreamPermits({
      maxUpstreamConnections: options.maxUpstreamConnections,
      streamsMax: (backend) => pool.http2.capacityOf(backend),
      maxUpstreamQueue: options.maxUpstreamQueue,
    }),
    exchangeLimiter: new ExchangeLimiter(options.maxConcurrentExchanges),
    waiting: new WaitingClients(incompleteHeads),
    incompleteHeads,
    requestMemory: new RequestMemory(setup.requestMemoryBytesMax ?? 64 * 1024 * 1024),
    retryBudgets: new RetryBudgets(),
    observer: {
      timesUpstream: true,
      policyDecided: () => undefined,
      exchangeEnded: () => undefined,
      upstreamFailed: ({ cause }) => void failures.push(cause),
      attemptRepeated: (reason) => void repeated.push(reason),
      retryRefused: (condition) => void refusedRetries.push(condition),
      deprecatedVersionUsed: () => undefined,
      backendFailed: () => undefined,
      breakerChanged: () => undefined,
      overloaded: () => undefined,
      handshakeFailed: () => undefined,
      proxyHeaderRefused: () => undefined,
      gaveWay: () => undefined,
      internalError: (error) => void defects.push(error),
      ...setup.observer,
    },
    snapshot: () => holder.current,
    breakerOf: ({ id }) => breakerById(id),
    targetsOf: (revision) => targets.of(revision),
    shareOf: shares(
      ({ id }) => breakerById(id),
      clock,
      (revision) => targets.of(revision),
    ),
    isTrustedProxy: (address) => setup.trustedProxies?.includes(address) ?? false,
    nextRequestId: requestIds(),
    tracing: setup.tracing,
    isDraining: () => draining,
    httpDate: () => httpDate(clock.nowMs()),
    match: createMatchResult<CompiledPolicy>(),
  };
  const certificateRequests = new CertificateRequests({
    versions: () => holder.versions(),
    isUsed: () => trust.isUsed,
  });
  const listener = new Listener(context, {
    host: '127.0.0.1',
    ports: [{ port: 0, tls: listenerTls(setup), allowsH2c: setup.h2c ?? false }],
    isAnnounced: () => setup.proxyHeaders ?? false,
    certificateRequests,
  });
  deadlines.start();
  const [port = 0] = await listener.listen();
  ownListeners.set('traffic', port);
  return {
    port,
    context,
    listener,
    pool,
    breakerOf: breakerById,
    failures,
    repeated,
    refusedRetries,
    defects,
    explain: createExplain({
      context,
      compilers,
      settings: dependencies,
      lookups: fixLookups(() => holder.current),
      hasPlainPort: false,
      isSecure: setup.tls !== undefined,
    }),
    apply: (next) => {
      holder.apply(next);
      certificateRequests.outdate();
    },
    startDraining: () => (draining = true),
    close: async () => {
      draining = true;
      await listener.drain(0);
      deadlines.stop();
      pool.close();
    },
  };
}
