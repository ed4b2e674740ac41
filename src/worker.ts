/**
 * The program of a proxy worker thread: wires the traffic path, applies configuration changes and answers the
 * supervisor. compose/gateway.ts does the same for the main thread.
 */
import { parentPort } from 'node:worker_threads';
import { peerList } from './egress/blocks.ts';
import { Egress } from './egress/egress.ts';
import { OwnListeners } from './egress/own-listeners.ts';
import { viaHops } from './http/fields/forwarded.ts';
import { httpDates, systemClock } from './lib/clock.ts';
import { requestIds } from './lib/ids.ts';
import { messageOf, systemReason } from './lib/error-message.ts';
import { policySettings } from './control/workers/policy-settings.ts';
import { requireVersion } from './control/threads/program-version.ts';
import { SharedConcurrencyStore } from './limits/concurrency.ts';
import { KeySetFailures } from './observe/key-set-failures.ts';
import type { WorkerSample } from './observe/metrics/metrics.ts';
import type { RunningProfile } from './observe/profile.ts';
import { createPolicyCompilers } from './policy/compile-policy.ts';
import type { PolicyDependencies } from './policy/dependencies.ts';
import type { CompiledPolicy } from './policy/stage.ts';
import type { Breaker } from './proxy/resilience/breaker.ts';
import { BreakerRegistry } from './proxy/resilience/breaker-registry.ts';
import type { ProxyContext } from './proxy/interfaces/proxy-context.ts';
import type { Revision } from './proxy/interfaces/route.ts';
import { shares } from './proxy/interfaces/shared-parts.ts';
import { Deadlines } from './proxy/resilience/deadlines.ts';
import { createExplain } from './explain/explain.ts';
import { fixLookups } from './explain/fix.ts';
import { DebugTokens } from './explain/debug-header.ts';
import { ExchangeLimiter } from './proxy/exchange-limiter.ts';
import { UpstreamPermits } from './proxy/upstream/pool/permits.ts';
import { limitHeldBytes } from './proxy/downstream/http2/request-window.ts';
import { limitReadBuffers } from './proxy/io/read-buffers.ts';
import { limitBacklog } from './proxy/io/write-backlog.ts';
import { memoryShares } from './settings/memory-shares.ts';
import { RequestMemory } from './proxy/io/request-memory.ts';
import { IncompleteHeads } from './proxy/downstream/incomplete-heads.ts';
import { WaitingClients } from './proxy/downstream/waiting-clients.ts';
import { Listener } from './proxy/downstream/accept/listener.ts';
import { createMatchResult } from './proxy/match.ts';
import type { ProxyOptions } from './proxy/options.ts';
import { ClientCertificates } from './proxy/upstream/tls/backend-tls.ts';
import { RetryBudgets } from './proxy/resilience/retry-budget.ts';
import { TargetRegistry } from './proxy/targets/target-registry.ts';
import { createExplainSide } from './explain/worker-side.ts';
import { Sampler } from './proxy/tracing/sampler.ts';
import { profileThread } from './control/profiles/thread-profiler.ts';
import { startHeartbeat } from './control/workers/heartbeat.ts';
import { WorkerChanges } from './control/changes/worker-changes.ts';
import { useHeldFiles } from './control/threads/held-files.ts';
import { startData } from './control/threads/waiting-thread.ts';
import { createWorkerLimits } from './control/workers/limit-store.ts';
import { watchMemory } from './control/memory/memory-watch.ts';
import { createHeapRelease } from './control/memory/spare-heap.ts';
import type {
  ApplyMessage,
  CertificatesMessage,
  FromWorker,
  TargetsMessage,
  ToWorker,
  WorkerStart,
} from './control/workers/protocol.ts';
import { SnapshotHolder } from './config/holder.ts';
import { KeyReader } from './keys/key-table.ts';
import { CertificateRequests } from './proxy/downstream/tls/certificate-requests.ts';
import { TrustStore } from './x509/trust-store.ts';
import { orderedCertificates, portOptions } from './worker/traffic-ports.ts';
import { createObservation, tracingOf } from './worker/observation.ts';
import { createUpstreamPool } from './worker/upstream-pool.ts';

/** A failed worker ends itself if the main thread has not ended it by then. */
const FAILED_EXIT_MS = 2_000;

const port = parentPort;
if (port === null) throw new Error('worker.ts runs as a worker thread only');
const start = startData() as WorkerStart;
const { settings, workerNumber, limitMemory, certificates } = start;
requireVersion(import.meta.url, start.version);

useHeldFiles();

const clock = systemClock;
const send = (message: FromWorker): void => port.postMessage(message);
const keys = new KeyReader(start.keyMemory);
const breakers = new BreakerRegistry();
const { output, log, accessLog, metrics, recorder, live, traffic, observer } = createObservation(start, {
  clock,
  send,
  versions: () => holder.versions(),
  findKeyId: (digest) => keys.findPresentedKey(digest)?.id,
  breakerOf: (revisionId) => breakers.byId(revisionId),
  // Before the first configuration there is no listener.
  gauges: () => (isConfigured ? [listener.connectionCount, context.exchangeLimiter.inUse] : [0, 0]),
});
const tracing = tracingOf(settings);
const keySetFailures = new KeySetFailures(clock);
const debugTokens = new DebugTokens();
const targets = new TargetRegistry(start.targetColumn, () => clock.nowMs(), settings.zone);
const ownListeners = new OwnListeners(start.ownPorts, clock);
const egress = new Egress(settings.egress, ownListeners);
const deadlines = new Deadlines(clock);
const presented = new ClientCertificates(start.clientCertificates);
const trust = new TrustStore(start.trusted, settings.proxy.overdueCrls);
const ordered = orderedCertificates(start, clock, log);
const options: ProxyOptions = { ...settings.proxy, ipv6PrefixBits: settings.ipv6PrefixBits };
const pool = createUpstreamPool(options, { clock, deadlines, egress, clientCertificates: presented, log });
// The last chance to write log lines: unwritten lines of a dying worker are lost.
process.prependOnceListener('exit', () => accessLog?.flushSync());
startHeartbeat(start.heartbeat);
process.on('uncaughtException', fail);
let draining = false;
let profile: RunningProfile | undefined;
let isConfigured = false;
let mayListen = !start.isSpare;

// Messages wait meanwhile: there is no listener yet.
const limits = await createWorkerLimits({ settings, limitMemory, workerNumber, log });
const policyDependencies: PolicyDependencies = {
  clock,
  limits: limits.store,
  concurrency: new SharedConcurrencyStore(limitMemory.concurrency, limitMemory.hashKey, workerNumber),
  keys,
  ...policySettings(settings),
  trust,
  egress,
  onAuth: (outcome) => metrics.auth(outcome),
  onLimit: (admitted, kind) => metrics.limiter(kind, admitted),
  onJwksFailure: (uri, reason, hasKeys) => {
    keySetFailures.failed(uri, reason, hasKeys);
    log.warn({ uri, reason }, 'cannot fetch a key set');
  },
  onJwksRecovery: (uri) => {
    keySetFailures.fetched(uri);
    log.info({ uri }, 'a key set was fetched again');
  },
  onJwksKeySkipped: (uri, kid, reason) => log.warn({ uri, kid, reason }, 'a key of a key set is not used'),
};
const compilers = createPolicyCompilers(policyDependencies);
const holder = new SnapshotHolder<CompiledPolicy>(compilers.compile, keys);
const changes = new WorkerChanges(holder);

const breakerOf = (revision: Revision): Breaker | undefined => breakers.of(revision);
const incompleteHeads = new IncompleteHeads(settings.proxy.maxIncompleteHeadBytes, () => observer.gaveWay());
const context: ProxyContext = {
  options,
  clock,
  deadlines,
  pool,
  egress,
  via: viaHops(start.viaName),
  permits: new UpstreamPermits({
    maxUpstreamConnections: options.maxUpstreamConnections,
    streamsMax: (backend) => pool.http2.capacityOf(backend),
    maxUpstreamQueue: options.maxUpstreamQueue,
  }),
  exchangeLimiter: new ExchangeLimiter(options.maxConcurrentExchanges),
  waiting: new WaitingClients(incompleteHeads),
  incompleteHeads,
  requestMemory: new RequestMemory(settings.proxy.maxBufferedRequestBytes),
  retryBudgets: new RetryBudgets(),
  observer,
  snapshot: () => holder.current,
  breakerOf,
  targetsOf: (revision) => targets.of(revision),
  shareOf: shares(breakerOf, clock, (revision) => targets.of(revision)),
  isTrustedProxy: peerList(settings.trustedProxyIps),
  nextRequestId: requestIds(),
  tracing: tracing && new Sampler(tracing.sampleRatio),
  isDraining: () => draining,
  httpDate: httpDates(clock),
  match: createMatchResult<CompiledPolicy>(),
  ordered,
  decisionLine: (exchange) => debugTokens.line(exchange),
};
const lookups = fixLookups(() => holder.current);
const explainParts = {
  explain: createExplain({
    context,
    compilers,
    settings: policyDependencies,
    lookups,
    isSecure: certificates !== undefined,
    hasPlainPort: start.ports.tls !== undefined,
  }),
  recorder,
  debugTokens,
  live,
  settings: { ...policyDependencies, traceUrl: tracing?.traceUrl },
  lookups,
};
const explainSide = createExplainSide(explainParts, send);
const certificateRequests = new CertificateRequests({
  versions: () => holder.versions(),
  isUsed: () => trust.isUsed,
});
const listener = new Listener(context, {
  host: settings.proxy.host,
  ports: portOptions(start, ordered),
  isAnnounced: peerList(settings.proxy.proxyProtocolFrom),
  certificateRequests,
});

watchMemory(clock);
const { passingBytes } = memoryShares({ workers: settings.workers, hasTls: false });
limitReadBuffers((2 * passingBytes) / 7);
limitBacklog(passingBytes / 7);
limitHeldBytes((4 * passingBytes) / 7);
const releaseHeap = createHeapRelease(() => listener.connectionCount === 0 && !observer.isWarm);

port.on('message', (message: ToWorker) => {
  switch (message.type) {
    case 'prepare':
      return void changes.prepare(message).then(send);
    case 'apply':
      return void apply(message);
    case 'targets':
      takeTargets(message);
      return send({ type: 'applied', id: message.id, error: undefined });
    case 'certificates':
      return send({ type: 'applied', id: message.id, error: tryCertificates(message) });
    case 'ordered_certificates':
      ordered?.apply(message.change);
      return send({ type: 'applied', id: message.id, error: undefined });
    case 'client_certificates':
      presented.replace(message.pairs);
      pool.endOutdated();
      return send({ type: 'applied', id: message.id, error: undefined });
    case 'trusted':
      trust.replace(message.files);
      return send({ type: 'applied', id: message.id, error: undefined });
    case 'ticket_keys':
      listener.replaceTicketKeys(message.ticketKeys);
      return send({ type: 'applied', id: message.id, error: undefined });
    case 'sample':
      return send({ type: 'sample', id: message.id, sample: sample() });
    case 'explain':
    case 'explain_recorded':
    case 'explain_setup':
      return explainSide(message);
    case 'traffic_records':
      return send({ type: 'traffic_records', id: message.id, records: traffic?.records() ?? [] });
    case 'profile':
      profile = profileThread(message.task, {
        chunk: (text) => send({ type: 'profile_chunk', text }),
        end: (problem) => send({ type: 'profile_end', problem }),
      });
      return;
    case 'end_profile':
      return profile?.stop();
    case 'listen':
      mayListen = true;
      return void listenIfReady();
    case 'unix_socket':
      return void listenOnSocket(message.descriptor);
    case 'drain':
      draining = true;
      return profile?.stop();
    case 'close_port':
      return void drain();
  }
});

function sample(): WorkerSample {
  observer.sendShadowDenials();
  metrics.setConnections({
    downstream: listener.connectionCount,
    upstreamIdle: pool.idleCount,
    upstreamHttp2: pool.http2.count,
    exchanges: context.exchangeLimiter.inUse,
    upstreamQueue: context.permits.waiting,
    requestBufferBytes: context.requestMemory.bytes,
  });
  metrics.setLogLinesDropped(output.droppedLines);
  metrics.setConfigVersion(holder.current.configVersion);
  metrics.setLimitStore(limits.shared?.());
  metrics.setKeySetFailures(keySetFailures.current());
  return metrics.sample(workerNumber);
}

function apply(message: ApplyMessage): void {
  const error = changes.apply(message.change);
  if (error === undefined) updateRevisions(message);
  // A worker without its first configuration would answer 404 to everything: it must not listen.
  if (!isConfigured && error !== undefined) return send({ type: 'listen_failed', message: error });
  send({ type: 'applied', id: message.id, error });
  releaseHeap();
  if (isConfigured) return;
  isConfigured = true;
  void listenIfReady();
}

function updateRevisions(message: ApplyMessage): void {
  const { breakers: entries, targets: shared, removedRevisionIds, endedPools } = message;
  certificateRequests.outdate();
  for (const revisionId of removedRevisionIds) breakers.delete(revisionId);
  for (const [revisionId, memory] of entries) breakers.add(revisionId, memory);
  for (const revisionId of removedRevisionIds) targets.delete(revisionId);
  takeTargets({ targets: shared, endedPools });
}

function takeTargets({ targets: shared, endedPools }: Pick<TargetsMessage, 'targets' | 'endedPools'>): void {
  for (const [revisionId, memory, found] of shared) {
    if (memory === undefined) targets.delete(revisionId);
    else targets.set(revisionId, memory, found);
  }
  for (const poolKey of endedPools) pool.end(poolKey);
}

function tryCertificates({ certificates: next }: CertificatesMessage): string | undefined {
  try {
    listener.replaceCertificates(next);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Listens once there is a configuration: without routes, a worker would answer 404 to everything. */
async function listenIfReady(): Promise<void> {
  if (!isConfigured || !mayListen) return;
  deadlines.start();
  metrics.measureEventLoop();
  try {
    const [main = 0, second] = await listener.listen();
    const tls = start.ports.tls === undefined ? undefined : second;
    ownListeners.set('traffic', main);
    if (tls !== undefined) ownListeners.set('traffic_tls', tls);
    send({ type: 'listening', ports: { main, tls } });
  } catch (error) {
    send({ type: 'listen_failed', message: systemReason(error) });
  }
}

async function listenOnSocket(unixDescriptor: number): Promise<void> {
  try {
    await listener.add({ port: 0, unixDescriptor, tls: undefined, allowsH2c: settings.proxy.h2c });
  } catch (error) {
    log.error({ err: error }, 'a worker cannot listen on the Unix socket');
  }
}

/**
 * After an unknown failure a new worker is safer than one in an unknown state. This one continues for the milliseconds
 * that another needs to listen, so that the port stays open; then the main thread ends it.
 */
function fail(thrown: unknown): void {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  try {
    send({ type: 'failed', error });
  } catch {
    // The error contains something that cannot be sent.
    send({ type: 'failed', error: new Error(error.stack ?? error.message) });
  }
  setTimeout(() => process.exit(1), FAILED_EXIT_MS);
}

async function drain(): Promise<void> {
  await listener.drain(settings.proxy.drainTimeoutMs, () => send({ type: 'port_closed' }));
  deadlines.stop();
  pool.close();
  observer.stop();
  await limits.close();
  await output.settled();
  accessLog?.flushSync();
  output.flushSync();
  send({ type: 'drained' });
  process.exit(0);
}
