/**
 * Wires the main thread: database, configuration, workers, management API. Implementations are chosen only here and in
 * the other files of compose/ (worker.ts does the same for a worker thread). Starts parts in the order of their
 * dependencies, and stops the started ones when a step fails.
 */
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { acmeAuthorities, prepareAcme } from './acme.ts';
import { createChanges } from './changes.ts';
import {
  announceFirstToken,
  type Announcing,
  databaseOf,
  recoverDatabase,
  snapshotFileWriter,
} from './database.ts';
import type { DatabaseLocation } from '../control/database/database-location.ts';
import { CertificateWatches, readCertificates, type ReadCertificates } from './listener-certificates.ts';
import { statsHistory } from './start-stats.ts';
import { startEvents } from './events/start-events.ts';
import { createEvents } from './events/event-parts.ts';
import { sealPlainOnce } from '../control/database/seal-plain.ts';
import type { ConfigState } from '../control/cluster/config-state.ts';
import { StopSteps } from '../control/database/stop-steps.ts';
import { startConfigFile } from './start-config-file.ts';
import { createManagement, listenForManagement, writeDependencies, type Phase } from './management.ts';
import { createTraceExport, readCollectorFiles, watchCollectorFiles, type Logging } from './telemetry.ts';
import type { Parts } from './parts.ts';
import {
  assertAlone,
  assertClaimed,
  assertUpToDate,
  claim,
  databaseLock,
  fileOfPort,
  leave,
  release,
  successorIn,
  takeover,
} from './takeover-files.ts';
import {
  createSupervisor,
  discoveryWatch,
  listenForTraffic,
  openUnixSocket,
  publishUnixSocket,
  startHousekeeping,
  startLimits,
  startUpkeep,
  supervisedCertificates,
} from './workers.ts';
import { Egress } from '../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../egress/own-listeners.ts';
import { isLoopback, loopbackOf } from '../lib/listeners.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { MetricsMerger } from '../observe/metrics/metrics-merger.ts';
import { ShadowHistory } from '../observe/shadow-report.ts';
import { DeprecationLog } from '../control/reporting/deprecation-log.ts';
import { newTroubles } from '../control/problems/recent-events.ts';
import { EventSources } from '../control/events/event-sources.ts';
import { HealthRegistry } from '../control/health/health-registry.ts';
import { ExplainControl } from '../explain/setup/explain-control.ts';
import { LiveHub } from '../explain/live/live-hub.ts';
import { TakeoverResponder, type Successor } from '../control/takeover/takeover.ts';
import { pidFileOf } from '../control/takeover/pid-file.ts';
import { KeyUsageWriter } from '../keys/usage-writer.ts';
import type { Connections } from '../control/reporting/collector-files.ts';
import { ProgramWatch } from '../control/reporting/program-watch.ts';
import { ClockWatch } from '../control/database/clock-watch.ts';
import { SecretWatch } from '../control/database/secret-watch.ts';
import { HistoryCompactor } from '../control/database/history-compactor.ts';
import { makeOwnFolder, openDatabase } from '../control/database/open-database.ts';
import { ShadowLog } from '../control/reporting/shadow-log.ts';
import { startDatabase, type StartDatabase } from '../control/fallback/start-database.ts';
import { settingsInForce } from '../settings/settings-in-force.ts';
import type { TrafficPorts } from '../control/workers/protocol.ts';
import { programUrl } from '../control/threads/program-url.ts';
import type { WaitingThread } from '../control/threads/waiting-thread.ts';
import type { Supervisor } from '../control/workers/supervisor.ts';
import type { ManagementListening } from '../management/listening.ts';
import type { UnixListener } from '../control/unix-socket/unix-listener.ts';
import type { Logger } from '../observe/log.ts';
import { memoryProblem } from '../settings/memory-shares.ts';
import type { Settings } from '../settings/settings.ts';
import { ClientCertificates } from '../proxy/upstream/tls/backend-tls.ts';
import type { Repository } from '../storage/repository.ts';
import { unusableDatabase } from '../storage/storage-errors.ts';

export { migrateDatabase } from './database.ts';
export { createLogging } from './telemetry.ts';

export interface Gateway {
  /**
   * SIGUSR2: another process requests or returns the management port (control/takeover/takeover.ts).
   * @param signals how many of them came
   */
  takeover(signals: number): Promise<void>;
  /** Reads certificates and configuration files again; undefined where there are none. */
  readonly reload: (() => Promise<void>) | undefined;
  /** Drains and stops everything; resolves when nothing is running. */
  stop(): Promise<void>;
}

export interface StartOptions extends Announcing {
  readonly settings: Settings;
  readonly version: string;
  /** The environment, for references in configuration files. */
  readonly env: (name: string) => string | undefined;
  /** Threads for the workers, which have been loading since this process began. */
  readonly waiting: WaitingThread[];
  /** Take over from the process that serves this database folder, if there is one. */
  readonly takeover: boolean;
  /** Aborted when this process is to stop. */
  readonly stopping: AbortSignal;
}

/** A worker may need this much longer than the drain itself to end. */
const STOP_MARGIN_MS = 2_000;
type Recorders = Pick<
  Parts,
  | 'metrics'
  | 'keyUsage'
  | 'history'
  | 'clockWatch'
  | 'secretWatch'
  | 'programWatch'
  | 'explain'
  | 'live'
  | 'traces'
  | 'collectorFiles'
  | 'deprecations'
  | 'health'
  | 'discovery'
  | 'shadowLog'
  | 'shadowHistory'
  | 'stats'
  | 'troubles'
  | 'events'
  | 'sources'
>;

const THREADS = { trialUrl: programUrl('replay-worker'), importUrl: programUrl('import-worker') };

/**
 * @throws StartError, or the storage's own start error, with a message for the operator
 */
export async function startGateway(options: StartOptions, logging: Logging): Promise<Gateway> {
  const { settings } = options;
  const { log, output } = logging;
  const database = databaseOf(settings);
  makeOwnFolder(database);
  const ownFile = database.file ?? database.snapshotFile ?? fileOfPort(settings, log);
  const pidFile = ownFile === undefined ? undefined : pidFileOf(ownFile);
  const predecessor = options.takeover ? await takeover(pidFile, settings, log) : undefined;
  if (predecessor === undefined) {
    await assertAlone(pidFile, database.file, settings);
    // Before anything is written to the folder. A SQLite database has a lock, too.
    if (database.kind === 'postgres') claim(pidFile, 'ended', log);
  }
  const lock = databaseLock(database.file, predecessor !== undefined, log);
  lock.take();
  // One in memory has only what a file declares.
  const isKept = database.kind === 'postgres' || database.file !== undefined;
  const { proxy } = settings;
  const ports = [proxy.port, proxy.tlsPort ?? 0].filter((port) => port > 0);
  const alone = Promise.withResolvers<void>();
  // Often no write waits: without this, a rejection would end the process.
  alone.promise.catch(() => undefined);
  try {
    const gateway = await startParts(
      { ...options, logging },
      {
        claimFolder: () => {
          if (predecessor === undefined && database.kind === 'postgres') assertClaimed(pidFile);
          else claim(pidFile, 'any', log);
          // There may have been no folder for it before.
          lock.take();
        },
        isAlone: () => predecessor?.hasEnded() ?? true,
        assertWanted: () => {
          if (predecessor?.hasEnded() === false) options.stopping.throwIfAborted();
        },
        portFreed: async () => predecessor?.freed(),
        assertUpToDate: (configVersion) => {
          if (predecessor !== undefined && isKept) assertUpToDate(pidFile, configVersion);
        },
        successor: successorIn(pidFile, log),
        leave: (configVersion) => {
          if (isKept) leave(pidFile, configVersion, log);
        },
        mayWrite: () => alone.promise,
        refuseWrites: async () => alone.reject(unusableDatabase('this gateway is stopping')),
      },
    );
    predecessor?.complete();
    alone.resolve(predecessor?.left(ports, proxy.drainGraceMs));
    const stop = async (): Promise<void> => {
      try {
        await gateway.stop();
        log.info('headgate has stopped');
      } finally {
        release(pidFile, log);
        lock.release();
        output.flushSync();
      }
    };
    return { ...gateway, stop };
  } catch (error) {
    // Before the other process claims it again.
    release(pidFile, log);
    lock.release();
    predecessor?.cancel();
    throw error;
  }
}

type LoggedStart = StartOptions & { readonly logging: Logging };

interface Folder {
  /** Called when everything works; the gateway then reports that it is ready. */
  claimFolder(): void;
  /** Whether no gateway that is taken over still runs. */
  isAlone(): boolean;
  /** Throws when this process is to stop and the gateway that it would take over can go on. */
  assertWanted(): void;
  /** Resolves when a gateway that is taken over has closed its management port. */
  portFreed(): Promise<void>;
  /** Throws when a gateway that is taken over has a later configuration than this database. */
  assertUpToDate(configVersion: number): void;
  readonly successor: Omit<Successor, 'mayRead'>;
  /** Tells the successor which configuration this gateway has. */
  leave(configVersion: number): void;
  /** Resolves when no request can reach a gateway that is taken over, and would not see a write. */
  mayWrite(): Promise<void>;
  /** The start has failed, or the process stops: writes that still wait are refused. */
  refuseWrites(): Promise<void>;
}

async function startParts(options: LoggedStart, folder: Folder): Promise<Gateway> {
  const { settings, version, logging } = options;
  const { log } = logging;
  const clock = systemClock;
  const { certificates, connections, readAcmeCa } = await readNamedFiles(settings, clock, log);
  const database = databaseOf(settings);
  const announceToken = announcing(options, database);
  const open = (mustExist: boolean) => openDatabase(database, settings, clock, mustExist);
  const opened = await startDatabase(database, open, log);
  const { repository, recovering, state } = opened;
  const undo = new StopSteps(clock, () => repository.close());
  try {
    if (recovering === undefined) folder.assertUpToDate(state.configVersion);
    const limits = await startLimits(settings, clock);
    undo.add(async () => limits.limitNode?.stop());
    const snapshotFile = snapshotFileWriter(database, state, clock, log);
    const connecting = ownConnections(settings, clock, certificates);
    const own = { settings, version, clock, log, snapshotFile, ...opened, ...limits, ...connecting };
    const parts: Parts = { ...own, ...recorders(own, logging, connections) };
    const stopHousekeeping = startHousekeeping(parts, undo);
    const unixSocket = await openUnixSocket(settings, log, options.env);
    undo.add(async () => unixSocket?.remove());
    const supervisor = createSupervisor(parts, certificates, options.waiting, unixSocket);
    const watches = watchCertificates(parts, supervisor, certificates, () => management);
    undo.add(...startUpkeep(parts, supervisor));
    let phase: Phase = 'starting';
    const changes = createChanges(parts, supervisor);
    undo.addStoring(stopHousekeeping, () => parts.sources.stop().then(() => changes.cluster.stop()));
    undo.add(await prepareAcme(parts, supervisor, changes.cluster, watches, readAcmeCa));
    const tls = { watches, management: certificates.management?.pairs[0] };
    const writing = writeDependencies(parts, changes);
    const configFile = await startConfigFile(parts, writing, options.env);
    undo.add(async () => configFile?.stop());
    const shownSettings = settingsInForce(options.env);
    const further = { writing, configFile, threads: THREADS, shownSettings, phase: () => phase, ...folder };
    const management = await createManagement(parts, supervisor, changes, tls, further);
    undo.add(() => Promise.all([folder.refuseWrites(), management.close(), parts.acme.service?.stop()]));
    // The management port first: of two gateways started at the same time, only one may serve traffic.
    const managementPort = await listenForManagement(management, settings, () => folder.portFreed());
    connecting.ownListeners.set('management', managementPort);
    // Before there is traffic. From now on, writes of other nodes wait for this node.
    if (recovering === undefined) await changes.cluster.join(repository.cluster);
    undo.add(() => supervisor.stop(settings.proxy.drainTimeoutMs + STOP_MARGIN_MS));
    const ports = await listenForTraffic(parts, supervisor);
    for (const watch of [watches, parts.collectorFiles, configFile]) watch?.start();
    undo.add(() => Promise.all([watches.stop(), parts.collectorFiles?.stop()]));
    folder.claimFolder();
    // Last, so that a start that fails does not leave a token that only its output would have shown.
    if (recovering === undefined) await announceToken(repository);
    undo.add(await sealPlain(opened, folder, log));
    phase = 'serving';
    parts.acme.service?.start();
    startEvents(parts, watches, changes.cluster);
    replaceOther(folder, settings, unixSocket);
    logReady(parts, managementPort, ports);
    if (recovering === undefined) parts.snapshotFile?.changed();
    else recoverDatabase(parts, recovering, changes, announceToken);
    const takeover = new TakeoverResponder(management, successorOf(folder, supervisor, state), log);
    const stop = async (): Promise<void> => {
      phase = 'stopping';
      takeover.stop();
      await stopAfter(settings.proxy.drainGraceMs, undo);
    };
    const reload = reloadOf([watches.hasAny ? watches : undefined, parts.collectorFiles, configFile]);
    return { takeover: (signals) => takeover.request(signals), reload, stop };
  } catch (error) {
    await undo.undo();
    throw error;
  }
}

/** Once this gateway has the database for itself, and can use it. */
function sealPlain({ repository, recovering }: StartDatabase, folder: Folder, log: Logger) {
  const isAlone = (): boolean => folder.isAlone() && recovering?.isRecovered !== false;
  return sealPlainOnce(repository, isAlone, log);
}

/** The last step of a start that can fail. */
function replaceOther(folder: Folder, settings: Settings, unixSocket: UnixListener | undefined): void {
  folder.assertWanted();
  publishUnixSocket(unixSocket, settings);
}

function successorOf(folder: Folder, supervisor: Supervisor, state: ConfigState): Successor {
  const { successor } = folder;
  return {
    pid: () => successor.pid(),
    mayRead: () => folder.leave(state.configVersion),
    failed: () => {
      successor.failed();
      void supervisor.restoreUnixSocket();
    },
  };
}

/** Checks and reads the files that settings name, before the database is made. @throws StartError */
async function readNamedFiles(settings: Settings, clock: Clock, log: Logger) {
  return {
    certificates: await readCertificates(settings, clock, log),
    connections: readCollectorFiles(settings),
    readAcmeCa: acmeAuthorities(settings, log),
  };
}

/** @param graceMs a load balancer polls readiness and sends traffic until it sees the change */
async function stopAfter(graceMs: number, steps: StopSteps): Promise<void> {
  await delay(graceMs);
  await steps.run();
}

/** Shows the first admin token, unless one is set or stored. */
function announcing({ settings, ...announcing }: StartOptions, database: DatabaseLocation) {
  return async (usable: Repository): Promise<void> => {
    if (settings.adminToken !== undefined) return;
    await announceFirstToken(usable, systemClock, database, announcing);
  };
}

function watchCertificates(
  parts: Parts,
  supervisor: Supervisor,
  certificates: ReadCertificates,
  management: () => ManagementListening,
): CertificateWatches {
  return new CertificateWatches(parts, certificates, {
    ...supervisedCertificates(parts, supervisor),
    management: async ([pair]) => pair && management().renewCertificate(pair),
  });
}

/** A function that reads certificates and configuration files again; undefined when there are none. */
function reloadOf(parts: readonly ({ reload(): Promise<void> } | undefined)[]): Gateway['reload'] {
  const present = parts.filter((part) => part !== undefined);
  if (present.length === 0) return undefined;
  return async () => void (await Promise.all(present.map((part) => part.reload())));
}

/** Egress rules for the gateway's own connections. The ports are final once the listeners are bound. */
function ownConnections(
  { egress, server, proxy }: Settings,
  clock: Clock,
  certificates: ReadCertificates,
): Pick<Parts, 'ownPorts' | 'ownListeners' | 'egress' | 'clientCertificates' | 'acme'> {
  const ownPorts = createOwnPorts();
  const ownListeners = new OwnListeners(ownPorts, clock);
  ownListeners.set('management', server.port);
  ownListeners.set('traffic', proxy.port);
  ownListeners.set('traffic_tls', proxy.tlsPort ?? 0);
  const clientCertificates = new ClientCertificates(certificates.backends?.pairs);
  const acme = { service: undefined };
  return { ownPorts, ownListeners, egress: new Egress(egress, ownListeners), clientCertificates, acme };
}

/** The parts that record what happens. */
function recorders(
  parts: Omit<Parts, keyof Recorders>,
  logging: Logging,
  connections: Connections | undefined,
): Recorders {
  const { repository, log, clock, settings, state, version } = parts;
  const events = createEvents(parts);
  const health = new HealthRegistry(state, clock, log);
  const traces = createTraceExport({
    ...parts,
    logging,
    otel: settings.otel,
    connections,
    workers: settings.workers,
    url: programUrl('telemetry-worker'),
    nodeName: settings.cluster.nodeName ?? hostname(),
  });
  return {
    metrics: new MetricsMerger(),
    keyUsage: new KeyUsageWriter({ repository, log, clock, keyUsageDays: settings.keyUsageDays }),
    history: new HistoryCompactor({ repository, log, clock }),
    clockWatch: new ClockWatch({ repository, log, clock }),
    secretWatch: new SecretWatch({ repository, log }),
    programWatch: new ProgramWatch({ program: programUrl('worker').href, version, log, clock }),
    explain: new ExplainControl(clock),
    live: new LiveHub({ clock }),
    traces,
    collectorFiles: watchCollectorFiles({ ...parts, traces }, connections),
    deprecations: new DeprecationLog(log, clock),
    health,
    discovery: discoveryWatch(parts),
    shadowLog: new ShadowLog(log, clock),
    shadowHistory: new ShadowHistory(clock.nowMs()),
    stats: statsHistory(settings, clock),
    troubles: newTroubles(settings.cluster.heartbeatMs),
    events,
    sources: new EventSources({ ...parts, health }, events.recorder),
  };
}

/** The URL of the console for a browser on this machine. */
function consoleUrl({ server }: Settings, port: number): string {
  const host = loopbackOf(server.host) ?? server.host;
  const scheme = server.tls === undefined ? 'http' : 'https';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

function logReady(
  { settings, version, log, repository, state }: Parts,
  managementPort: number,
  ports: TrafficPorts,
): void {
  log.info(
    {
      version,
      proxy: `${settings.proxy.host}:${ports.main}`,
      ...(ports.tls !== undefined && { proxy_tls: `${settings.proxy.host}:${ports.tls}` }),
      ...(settings.proxy.unixSocket !== undefined && { proxy_socket: settings.proxy.unixSocket }),
      management: `${settings.server.host}:${managementPort}`,
      ...(settings.consoleFolder !== undefined && { console: consoleUrl(settings, managementPort) }),
      workers: settings.workers,
      database: repository.driver,
      config_version: state.configVersion,
    },
    'headgate is ready',
  );
  const problem = memoryProblem(settings.workers);
  if (problem !== undefined) log.warn(problem);
  if (settings.server.tls === undefined && !isLoopback(settings.server.host)) {
    const setting = 'GATEWAY_SERVER__TLS__CERT_FILE';
    log.warn({ setting }, 'the management API has no TLS: admin tokens can be read on the network');
  }
}
