/** The workers and what the main thread gives them: their supervisor, certificates, and background jobs. */
import { availableParallelism } from 'node:os';
import { Deadlines } from '../proxy/resilience/deadlines.ts';
import { UpstreamPool } from '../proxy/upstream/pool/pool.ts';
import { askSystem } from '../egress/name-queries.ts';
import { createLookup } from '../proxy/upstream/resolver.ts';
import type { Clock } from '../lib/clock.ts';
import { randomHex } from '../lib/ids.ts';
import { createLimitMemory } from '../limits/local/memory.ts';
import { CounterPressure } from '../control/workers/counter-pressure.ts';
import { DescriptorWatch } from '../control/workers/descriptor-watch.ts';
import { DiscoveryWatch } from '../control/discovery/discovery-watch.ts';
import { FoundFile } from '../control/discovery/found-file.ts';
import { HealthProbe } from '../control/health/health-probe.ts';
import { startLimitNode } from '../control/cluster/limit-node.ts';
import type { TrafficPorts } from '../control/workers/protocol.ts';
import { watchMemory } from '../control/memory/memory-watch.ts';
import { createHeapRelease, releaseWhenQuiet } from '../control/memory/spare-heap.ts';
import { programUrl } from '../control/threads/program-url.ts';
import type { WaitingThread } from '../control/threads/waiting-thread.ts';
import { Supervisor } from '../control/workers/supervisor.ts';
import { startTicketRotation } from '../control/certificates/ticket-keys.ts';
import { UnixListener } from '../control/unix-socket/unix-listener.ts';
import type { Logger } from '../observe/log.ts';
import type { Settings } from '../settings/settings.ts';
import { orderedAtStart, servesTls } from './acme.ts';
import { stopEvents } from './events/event-parts.ts';
import { once, type StopSteps } from '../control/database/stop-steps.ts';
import { databaseOf } from './database.ts';
import { noteLogLines } from './problems.ts';
import type { PublishCertificates, ReadCertificates } from './listener-certificates.ts';
import type { Parts } from './parts.ts';
import { listenError, startError } from './start-error.ts';

const TICK_MS = 1_000;
/** Callers under concurrency caps; memory of unused entries is never touched. */
const CALLERS_MAX = 4_194_304;
const METRICS_KEEP_MS = 5_000;
const VIA_BYTES = 8;
/** How long a start waits for discovery. */
const FIRST_LOOKS_MS = 1_000;

/** The first descriptor that a service manager passes (sd_listen_fds(3)). */
const PASSED_FD = 3;
const SOCKET_SETTING = 'GATEWAY_PROXY__UNIX_SOCKET';

/** @throws StartError with the path and the reason */
export async function openUnixSocket(
  { proxy, workers }: Settings,
  log: Logger,
  env: (name: string) => string | undefined,
): Promise<UnixListener | undefined> {
  const { unixSocket: path, unixSocketMode } = proxy;
  if (path === undefined) return undefined;
  try {
    if (path !== 'systemd') return await UnixListener.open(path, unixSocketMode, workers, log);
    if (env('LISTEN_PID') !== String(process.pid) || env('LISTEN_FDS') !== '1')
      throw new Error('the service manager has not passed exactly one socket');
    return await UnixListener.inherit(PASSED_FD, workers, log);
  } catch (error) {
    const what = path === 'systemd' ? 'the socket of the service manager' : path;
    throw listenError('traffic', what, SOCKET_SETTING, error);
  }
}

export function createSupervisor(
  parts: Parts,
  certificates: ReadCertificates,
  waiting: WaitingThread[],
  unixSocket: UnixListener | undefined,
): Supervisor {
  const { settings, version, clock, log, state, limitMemory, metrics, keyUsage, deprecations } = parts;
  const { shadowLog, shadowHistory, ownPorts } = parts;
  return new Supervisor({
    version,
    settings,
    clock,
    firstUpdates: {
      certificates: certificates.traffic?.pairs ?? (servesTls(settings) ? [] : undefined),
      clientCertificates: certificates.backends?.pairs ?? new Map(),
      trusted: certificates.clients?.files ?? new Map(),
    },
    ordered: orderedAtStart(parts),
    limitMemory,
    ownPorts,
    viaName: settings.proxy.viaName ?? `headgate-${randomHex(VIA_BYTES)}`,
    state,
    log,
    unixSocket,
    processors: availableParallelism(),
    workerUrl: programUrl('worker'),
    waiting,
    onKeysUsed: (used) => keyUsage.add(used),
    onLimitReached: (reached) => parts.sources.limitReached(reached),
    onDeprecatedUsed: (report) => {
      deprecations.report(report);
      parts.sources.deprecatedUsed(report.versionId);
    },
    onShadowDenials: (rows) => {
      shadowHistory.add(rows, clock.nowMs());
      shadowLog.report(rows);
    },
    onHealth: (message) => parts.health.report(message),
    onStats: (workerNumber, report) => parts.stats?.add(workerNumber, report),
    onWorkerLost: (workerNumber) => {
      metrics.retire(workerNumber);
      parts.troubles.workersLost.note(clock);
      parts.stats?.retire(workerNumber);
      parts.traces?.closeRings(workerNumber);
    },
    onLive: (message) => parts.live.report(message),
    openRings: (workerNumber) => parts.traces?.openRings(workerNumber),
    onRingFills: () => parts.traces?.wake(),
    explainSetup: () => ({ ...parts.explain.setup, watches: parts.live.watches }),
  });
}

/** The counters of this node, and its membership among the nodes that share limits. */
export async function startLimits(
  settings: Settings,
  clock: Clock,
): Promise<Pick<Parts, 'limitMemory' | 'limitNode'>> {
  // The workers, as many replaced ones that have not ended yet, the main thread, a spare and the trial thread.
  const threads = 2 * settings.workers + 4;
  const counterBytes = settings.limits.maxCounterBytes;
  // Each worker may have this many requests under way. With four places for each request, no set of the table
  // fills up.
  const callers = Math.min(CALLERS_MAX, 4 * settings.workers * settings.proxy.maxConcurrentExchanges);
  const limitMemory = reserve(counterBytes, () => createLimitMemory({ counterBytes, callers, threads }));
  return { limitMemory, limitNode: await startLimitNode(settings, limitMemory.nodes, clock) };
}

function reserve<T>(counterBytes: number, create: () => T): T {
  try {
    return create();
  } catch (error) {
    throw startError(
      `Cannot reserve ${counterBytes} bytes for counters: lower GATEWAY_LIMITS__MAX_COUNTER_BYTES`,
      error,
    );
  }
}

/**
 * Waits a moment for the first results of discovery, which began long before, so that a restart does not answer
 * 503 when the targets can be found. A slow or dead source does not delay the start further.
 */
export async function listenForTraffic(
  { discovery, clock, secretWatch, settings: { proxy } }: Parts,
  supervisor: Supervisor,
): Promise<TrafficPorts> {
  await discovery.firstLooks(FIRST_LOOKS_MS);
  try {
    const ports = await supervisor.start();
    // This thread has read the whole configuration and sent it to the workers.
    createHeapRelease(() => true)();
    releaseWhenQuiet();
    watchMemory(clock);
    // It reads the whole database, which must not delay the start.
    secretWatch.start();
    return ports;
  } catch (error) {
    const also = proxy.tlsPort === undefined ? '' : ` and ${proxy.tlsPort}`;
    throw listenError('traffic', `${proxy.host}:${proxy.port}${also}`, 'GATEWAY_PROXY__PORT', error);
  }
}

/**
 * Replaces the socket of a gateway that is taken over. It cannot get it back, so this comes when nothing else of the
 * start can fail. @throws StartError
 */
export function publishUnixSocket(unixSocket: UnixListener | undefined, { proxy }: Settings): void {
  try {
    unixSocket?.publish();
  } catch (error) {
    throw listenError('traffic', String(proxy.unixSocket), SOCKET_SETTING, error);
  }
}

/** Starts the background jobs; `undo` stops them. Returns a function that stops them earlier. */
export function startHousekeeping(parts: Parts, undo: StopSteps): () => Promise<unknown> {
  const { state, clock, log, keyUsage, history, deprecations, shadowLog } = parts;
  const pressure = new CounterPressure(parts.limitMemory, clock, log);
  const descriptors = new DescriptorWatch(log);
  descriptors.start();
  const probe = new HealthProbe({ state, clock, registry: parts.health, pool: probePool(parts) });
  const ticking = setInterval(() => {
    deprecations.tick();
    shadowLog.tick();
    pressure.tick();
    parts.stats?.tick();
  }, TICK_MS);
  probe.start();
  parts.clockWatch.start();
  parts.programWatch.start();
  parts.health.targets.start();
  // Writes as long as the database answers, and gives up when it does not.
  const storeUsage = once(() => keyUsage.stop());
  const stopJobs = once(() => {
    clearInterval(ticking);
    descriptors.stop();
    parts.programWatch.stop();
    parts.secretWatch.stop();
    probe.stop();
    parts.health.targets.stop();
    void storeUsage();
    // None of these records an event. Each may take seconds when its peer is silent.
    return Promise.all([history.stop(), parts.clockWatch.stop(), parts.traces?.stop()]);
  });
  undo.add(storeUsage);
  undo.addStoring(stopJobs, () => stopEvents(parts.events));
  undo.add(async () => parts.snapshotFile?.stop());
  return stopJobs;
}

/** Connections for health checks: names are resolved as in workers, and no connection is kept. */
function probePool({ clock, log, egress, clientCertificates }: Parts): UpstreamPool {
  return new UpstreamPool(new Deadlines(clock), {
    idleMax: 0,
    idleTimeoutMs: 0,
    ageMsMax: 0,
    clientCertificates,
    maxUpstreamHttp2Streams: 1,
    maxUpstreamHttp2Connections: 1,
    egress,
    lookup: createLookup({
      resolve: askSystem,
      monotonicMs: () => clock.monotonicMs(),
      onFailure: (host, error) =>
        log.debug({ host, err: error }, 'cannot resolve a backend for its health check'),
    }),
  });
}

/** Starts the updates that workers get in addition to the configuration; returns functions that stop them. */
export function startUpkeep(parts: Parts, supervisor: Supervisor): (() => Promise<void>)[] {
  return [
    startTicketKeys(parts, supervisor),
    startMetricsKeeping(parts, supervisor),
    startDiscovery(parts, supervisor),
  ];
}

/**
 * Creates the watch of discovered targets. Its results survive a restart wherever the configuration does: they
 * are stored beside the snapshot file.
 */
export function discoveryWatch(
  parts: Pick<Parts, 'state' | 'clock' | 'log' | 'egress' | 'settings'>,
): DiscoveryWatch {
  const { state, clock, log, egress, settings } = parts;
  const { snapshotFile } = databaseOf(settings);
  const file = snapshotFile === undefined ? undefined : new FoundFile(`${snapshotFile}.targets`, log);
  return new DiscoveryWatch({ state, clock, log, egress, settings: settings.discovery, file });
}

/** Starts looking up targets, without delaying the start. Returns a function that stops it. */
function startDiscovery({ discovery }: Parts, supervisor: Supervisor): () => Promise<void> {
  discovery.start((found) => supervisor.updates.setTargets(found));
  return () => discovery.stop();
}

/** Functions that send changed certificates to the workers and to health checks. */
export function supervisedCertificates(
  { clientCertificates }: Parts,
  supervisor: Supervisor,
): Pick<PublishCertificates, 'traffic' | 'backends' | 'clients'> {
  return {
    traffic: (pairs) => supervisor.updates.setCertificates(pairs),
    backends: (pairs) => {
      clientCertificates.replace(pairs);
      return supervisor.updates.setClientCertificates(pairs);
    },
    clients: (files) => supervisor.updates.setTrusted(files),
  };
}

/** Replaces session ticket keys periodically when TLS is on; returns a function that stops it. */
function startTicketKeys({ settings, log }: Parts, supervisor: Supervisor): () => Promise<void> {
  const { ticketRotationSecs } = settings.proxy;
  if (!servesTls(settings)) return async () => undefined;
  const stop = startTicketRotation(
    ticketRotationSecs * 1_000,
    (keys) => supervisor.updates.setTicketKeys(keys),
    log,
  );
  return async () => stop();
}

/** Samples workers periodically, since a worker's counts after its last sample die with it. */
function startMetricsKeeping(parts: Parts, supervisor: Supervisor): () => Promise<void> {
  const { metrics } = parts;
  const timer = setInterval(() => {
    void supervisor.questions.samples().then((samples) => {
      metrics.note(samples);
      noteLogLines(parts, samples);
    });
  }, METRICS_KEEP_MS);
  return async () => clearInterval(timer);
}
