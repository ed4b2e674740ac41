/**
 * Wires the main thread together: database, configuration, workers, management API. Everything that could be
 * one implementation or another is chosen here and nowhere else (worker.ts does the same for a worker thread).
 * Starts in the order in which things depend on each other, and undoes what it has started when a step fails.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock, type Clock } from './kernel/clock.ts';
import { SharedConcurrencyStore } from './limits/concurrency.ts';
import { createLimitMemory, LIMIT_SLOTS_DEFAULT, type LimitMemory } from './limits/memory.ts';
import { SharedMemoryLimitStore } from './limits/shared-memory.ts';
import { ensureFirstAdminToken } from './management/first-admin-token.ts';
import type { ManagementListening } from './management/listening.ts';
import { createManagementServer } from './management/server.ts';
import type { ConfigChange } from './model/config.ts';
import type { RateLimitGlobals } from './model/policy-rules.ts';
import { createLogger, gapLine, type Logger } from './observe/log.ts';
import { standardOutput, type LogOutput } from './observe/output.ts';
import { MetricsMerger, renderMetrics } from './observe/prometheus.ts';
import { WouldDenyReport } from './observe/would-deny-report.ts';
import { createPolicyCompiler } from './policy/compile-policy.ts';
import type { CompiledPolicy } from './policy/stage.ts';
import { Breaker } from './proxy/breaker.ts';
import { CertificateWatch, loadCertificates, type LoadedCertificates } from './runtime/certificates.ts';
import type { ConfigState } from './runtime/config-state.ts';
import { locateDatabase, secretBoxOf, type DatabaseLocation } from './runtime/database-location.ts';
import { DeprecationLog } from './runtime/deprecation-log.ts';
import { beginTakeOver, HandOver } from './runtime/hand-over.ts';
import { explainAccess } from './runtime/explain-access.ts';
import { ExplainControl } from './runtime/explain-control.ts';
import { HealthProbe } from './runtime/health-probe.ts';
import { instanceFile, type InstanceFile } from './runtime/instance-file.ts';
import { KeyUsageWriter } from './runtime/key-usage.ts';
import type { RecoveringRepository } from './runtime/recovering-repository.ts';
import type { SavedConfig } from './runtime/snapshot-file.ts';
import { makeOwnFolder, migrateDatabase as migrate, openDatabase } from './runtime/open-database.ts';
import { SnapshotFileWriter } from './runtime/snapshot-file-writer.ts';
import { initialState, standInText, startDatabase } from './runtime/start-database.ts';
import type { WorkerStart } from './runtime/protocol.ts';
import { ShadowLog } from './runtime/shadow-log.ts';
import { shadowReports } from './runtime/shadow-reports.ts';
import { Supervisor } from './runtime/supervisor.ts';
import { validateChange } from './snapshot/validate-change.ts';
import type { PolicyCompiler } from './snapshot/types.ts';
import type { Settings } from './settings.ts';
import type { Repository } from './storage/repository.ts';

/** The operator can mend it: shown as one plain line, without a stack. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartError';
  }
}

export interface Gateway {
  readonly managementPort: number;
  readonly proxyPort: number;
  /** Another process asks for the management port, or gives it back (runtime/hand-over.ts). */
  handOver(): Promise<void>;
  /** Reads the certificates again; undefined without TLS. */
  readonly reload: (() => Promise<void>) | undefined;
  /** Drains and ends everything; resolves when nothing is left running. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly settings: Settings;
  readonly version: string;
  /** Shows the first admin token to the person at the terminal; it must not reach a log. */
  readonly announce: (text: string) => void;
  /** Take the place of the process that serves this database folder now, if there is one. */
  readonly takeOver: boolean;
}

/** A worker may need this much longer than the drain itself to end. */
const STOP_MARGIN_MS = 2_000;
const TICK_MS = 1_000;
const METRICS_KEEP_MS = 5_000;
/** Workers count from 1; the main thread takes locks of the limit memory under a number of its own. */
const MAIN_THREAD_OWNER = 0x7fff;

export interface Logging {
  readonly log: Logger;
  readonly output: LogOutput;
}

export function createLogging(settings: Settings): Logging {
  const output = standardOutput({ gapLine: gapLine(settings.log.format, systemClock) });
  return { output, log: createLogger({ ...settings.log, output, clock: systemClock }) };
}

/** Brings the database's schema up to date: `headgate migrate`. Returns the names of the migrations applied. */
export async function migrateDatabase(settings: Settings): Promise<readonly string[]> {
  return migrate(databaseOf(settings), settings, systemClock);
}

/** Everything that the parts below share. */
interface Parts {
  readonly settings: Settings;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly repository: Repository;
  readonly state: ConfigState;
  readonly limitMemory: LimitMemory;
  readonly metrics: MetricsMerger;
  readonly keyUsage: KeyUsageWriter;
  /** undefined: switched off. */
  readonly snapshotFile: SnapshotFileWriter | undefined;
  /** What the gateway was started with in place of its database; undefined after a usual start. */
  readonly saved: SavedConfig | undefined;
  readonly recovering: RecoveringRepository | undefined;
  readonly explain: ExplainControl;
  readonly deprecations: DeprecationLog;
  readonly shadowLog: ShadowLog;
  readonly wouldDeny: WouldDenyReport;
}

/**
 * @throws StartError, or the storage's own start error, with a message for the operator
 */
export async function startGateway(options: StartOptions, logging: Logging): Promise<Gateway> {
  const { settings } = options;
  const { log } = logging;
  const database = databaseOf(settings);
  makeOwnFolder(database);
  const instance = database.folder === undefined ? undefined : instanceFile(database.folder);
  const predecessor = options.takeOver ? await takeOver(instance, settings, log) : undefined;
  try {
    const gateway = await startParts(options, logging);
    claim(instance, log);
    predecessor?.complete();
    const stop = async (): Promise<void> => {
      await gateway.stop();
      instance?.release();
    };
    return { ...gateway, stop };
  } catch (error) {
    predecessor?.cancel();
    throw error;
  }
}

/** The file serves a later `--take-over` only: without it the gateway runs as well. */
function claim(instance: InstanceFile | undefined, log: Logger): void {
  try {
    instance?.claim();
  } catch (error) {
    log.warn({ err: error }, 'the file with the process id could not be written; nothing can take over');
  }
}

/** Undefined when there is nobody to take over from. */
async function takeOver(
  instance: InstanceFile | undefined,
  { server }: Settings,
  log: Logger,
): Promise<Awaited<ReturnType<typeof beginTakeOver>> | undefined> {
  if (server.port === 0) throw new StartError('Cannot take over: GATEWAY_SERVER__PORT must name a port');
  const pid = instance?.otherPid();
  if (pid === undefined) {
    log.info('there is no running gateway to take over from');
    return undefined;
  }
  try {
    return await beginTakeOver(pid, server, systemClock);
  } catch (error) {
    throw startError('Cannot take over', error);
  }
}

async function startParts(options: StartOptions, { log, output }: Logging): Promise<Gateway> {
  const { settings, version, announce } = options;
  const clock = systemClock;
  const certificates = await readCertificates(settings);
  const database = databaseOf(settings);
  const opened = await startDatabase(database, () => openDatabase(database, settings, clock), log);
  const { repository, recovering } = opened;
  const undo: (() => Promise<unknown>)[] = [() => repository.close()];
  try {
    const announceToken = async (usable: Repository): Promise<void> => {
      if (settings.adminToken !== undefined) return;
      await announceFirstToken(usable, clock, database.folder, announce);
    };
    if (recovering === undefined) await announceToken(repository);
    const state = await initialState(opened);
    const parts: Parts = {
      settings,
      version,
      clock,
      log,
      repository,
      state,
      // Besides the workers the main thread, and some to spare while one takes the place of another.
      limitMemory: createLimitMemory({ slots: LIMIT_SLOTS_DEFAULT, threads: settings.workers + 3 }),
      metrics: new MetricsMerger(),
      keyUsage: new KeyUsageWriter({ repository, log, clock, daysKept: settings.keyUsageDays }),
      snapshotFile: snapshotFileWriter(database, repository, clock, log),
      saved: opened.saved,
      recovering,
      explain: new ExplainControl(clock),
      deprecations: new DeprecationLog(log, clock),
      shadowLog: new ShadowLog(log, clock),
      wouldDeny: new WouldDenyReport(clock.nowMs()),
    };
    undo.unshift(startHousekeeping(parts));
    undo.unshift(async () => parts.snapshotFile?.stop());
    const supervisor = createSupervisor(parts, certificates?.pairs);
    const watch = watchCertificates(parts, certificates, supervisor);
    undo.unshift(startMetricsKeeping(parts, supervisor));
    let stopping = false;
    const management = await createManagement(parts, supervisor, watch, () => stopping);
    undo.unshift(() => management.close());
    // The management port first: a second gateway started by mistake must not take part of the traffic.
    const managementPort = await listenForManagement(management, settings);
    undo.unshift(() => supervisor.stop(settings.proxy.drainTimeoutMs + STOP_MARGIN_MS));
    const proxyPort = await listenForTraffic(supervisor, settings);
    watch?.start();
    undo.unshift(async () => watch?.stop());
    logReady(parts, managementPort, proxyPort);
    if (recovering === undefined) parts.snapshotFile?.changed();
    else recoverDatabase(parts, recovering, supervisor, announceToken);
    const handOver = new HandOver(management, log);
    const stop = async (): Promise<void> => {
      stopping = true;
      handOver.stop();
      // Whoever balances load asks for readiness now and then, and sends traffic until it has heard of it.
      await delay(settings.proxy.drainGraceMs);
      for (const step of undo) await step();
      log.info('headgate has stopped');
      output.flushSync();
    };
    const reload = watch && (() => watch.reload());
    return { managementPort, proxyPort, handOver: () => handOver.request(), reload, stop };
  } catch (error) {
    for (const step of undo) await step().catch(() => undefined);
    throw error;
  }
}

/** Undefined where it is switched off. */
function snapshotFileWriter(
  database: DatabaseLocation,
  repository: Repository,
  clock: Clock,
  log: Logger,
): SnapshotFileWriter | undefined {
  const { snapshotFile: path } = database;
  if (path === undefined) return undefined;
  return new SnapshotFileWriter({ path, repository, secretBox: () => secretBoxOf(database), clock, log });
}

/** From a start with the snapshot file to one with the database. */
function recoverDatabase(
  { log, snapshotFile }: Parts,
  recovering: RecoveringRepository,
  supervisor: Supervisor,
  announceToken: (repository: Repository) => Promise<void>,
): void {
  recovering.recover({
    publish: (change) => supervisor.apply(change),
    onRecovered: async (repository) => {
      await announceToken(repository);
      // Through the recovering repository, which is usable when the writer's time has come.
      snapshotFile?.changed();
    },
    log,
  });
}

/** What runs beside the traffic; returns how to end it. */
function startHousekeeping(parts: Parts): () => Promise<void> {
  const { state, clock, log, keyUsage, deprecations, shadowLog } = parts;
  const probe = new HealthProbe(state, clock, log);
  const ticking = setInterval(() => {
    deprecations.tick();
    shadowLog.tick();
  }, TICK_MS);
  probe.start();
  return async () => {
    clearInterval(ticking);
    probe.stop();
    await keyUsage.stop();
  };
}

/** What a worker has counted since it was last asked dies with it; so it is asked now and then. */
function startMetricsKeeping({ metrics }: Parts, supervisor: Supervisor): () => Promise<void> {
  const timer = setInterval(() => {
    void supervisor.samples().then((samples) => metrics.merge(samples));
  }, METRICS_KEEP_MS);
  return async () => clearInterval(timer);
}

function createSupervisor(parts: Parts, certificates: WorkerStart['certificates']): Supervisor {
  const { settings, clock, log, state, limitMemory, metrics, keyUsage, deprecations } = parts;
  const { shadowLog, wouldDeny } = parts;
  return new Supervisor({
    settings,
    clock,
    certificates,
    limitMemory,
    state,
    log,
    // Beside this file, in the sources as in a build (scripts/build.ts).
    workerUrl: new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url),
    onKeysUsed: (used) => keyUsage.add(used),
    onDeprecatedUsed: (report) => deprecations.report(report),
    onWouldDeny: (rows) => {
      wouldDeny.add(rows, clock.nowMs());
      shadowLog.report(rows);
    },
    explainSetup: () => parts.explain.setup,
    onWorkerLost: (workerNumber) => metrics.retire(workerNumber),
  });
}

function createManagement(
  parts: Parts,
  supervisor: Supervisor,
  watch: CertificateWatch | undefined,
  isStopping: () => boolean,
): Promise<ManagementListening> {
  const { settings, version, clock, log, repository, state, limitMemory, metrics } = parts;
  const startedMs = clock.monotonicMs();
  const compilePolicy = checkingCompiler(settings, limitMemory, clock);
  return createManagementServer({
    repository,
    publish: (change) => publish(change, parts, supervisor),
    validateChange: (change) => {
      validateChange(change, compilePolicy);
      state.keys.assertRoomFor(change.keys);
    },
    clock,
    adminToken: settings.adminToken,
    swaggerEnabled: settings.server.swaggerEnabled,
    policyGlobals: globalsOf(settings),
    status: {
      dbDriver: repository.driver,
      uptimeSecs: () => Math.floor((clock.monotonicMs() - startedMs) / 1000),
      standIn: () => standInText(parts),
      ready: () => readiness(isStopping(), supervisor.listeningCount, settings.workers),
      breakerState: (revisionId) => {
        const memory = state.breakerOf(revisionId);
        return memory === undefined ? undefined : new Breaker(memory).view(clock.nowMs());
      },
    },
    shadow: shadowReports(parts.wouldDeny, supervisor, clock),
    explain: explainAccess(parts.explain, supervisor),
    metricsText: async () =>
      renderMetrics(metrics.merge(await supervisor.samples()), state.keys, watch?.facts),
    logger: log,
    version,
  });
}

/**
 * Brings a committed change to the workers. One that is not the next for them says that an earlier one did not get
 * there, or that another process writes to the database: everything is read again, so that nothing is missing.
 */
async function publish(change: ConfigChange, parts: Parts, supervisor: Supervisor): Promise<void> {
  const { state, repository, log, wouldDeny } = parts;
  parts.snapshotFile?.changed();
  for (const appId of change.removedAppIds) wouldDeny.forget(appId);
  if (change.configVersion === state.configVersion + 1) return supervisor.apply(change);
  log.warn(
    { known: state.configVersion, committed: change.configVersion },
    'config versions were skipped; the whole configuration is read again',
  );
  return supervisor.apply(await repository.loadAll());
}

function readiness(
  stopping: boolean,
  listening: number,
  workers: number,
): { readonly ready: boolean; readonly reason: string | undefined } {
  if (stopping) return { ready: false, reason: 'the gateway is stopping' };
  if (listening === 0) return { ready: false, reason: `none of ${workers} workers accepts connections yet` };
  return { ready: true, reason: undefined };
}

/** Compiles policies only to see that they compile: it counts nothing and fetches nothing. */
function checkingCompiler(
  settings: Settings,
  limitMemory: LimitMemory,
  clock: Clock,
): PolicyCompiler<CompiledPolicy> {
  const nothing = (): void => undefined;
  return createPolicyCompiler({
    clock,
    limits: new SharedMemoryLimitStore(limitMemory, MAIN_THREAD_OWNER),
    concurrency: new SharedConcurrencyStore(limitMemory.concurrency, limitMemory.hashKey, MAIN_THREAD_OWNER),
    keys: { findKeyByHash: () => undefined, generation: 0 },
    jwtDefaults: settings.jwt,
    globals: globalsOf(settings),
    perIp: settings.perIpRateLimit,
    authFailuresPerMinute: settings.proxy.authFailuresPerMinute,
    onAuth: nothing,
    onLimit: nothing,
    onJwksFailure: nothing,
  });
}

function globalsOf({ rateLimit }: Settings): RateLimitGlobals | undefined {
  return rateLimit === undefined
    ? undefined
    : { requests: rateLimit.requests, windowSeconds: rateLimit.windowSecs };
}

async function announceFirstToken(
  repository: Repository,
  clock: Clock,
  folder: string | undefined,
  announce: (text: string) => void,
): Promise<void> {
  const first = await ensureFirstAdminToken(repository, clock, folder);
  if (first === undefined) return;
  const where = first.file === undefined ? '' : `\nIt is kept in ${first.file}; it is not shown again.`;
  announce(`The first admin token is ${first.token}${where}\n`);
}

async function listenForManagement(management: ManagementListening, settings: Settings): Promise<number> {
  const { host, port } = settings.server;
  try {
    return (await management.listen(host, port)).port;
  } catch (error) {
    throw startError(`Cannot listen for management on ${host}:${port}`, error);
  }
}

async function listenForTraffic(supervisor: Supervisor, settings: Settings): Promise<number> {
  try {
    return await supervisor.start();
  } catch (error) {
    throw startError(`Cannot listen for traffic on ${settings.proxy.host}:${settings.proxy.port}`, error);
  }
}

async function readCertificates({ proxy }: Settings): Promise<LoadedCertificates | undefined> {
  if (proxy.tls === undefined) return undefined;
  const loaded = await loadCertificates(proxy.tls);
  if ('error' in loaded) throw new StartError(loaded.error);
  return loaded;
}

/** undefined without TLS. */
function watchCertificates(
  { settings, log }: Parts,
  loaded: LoadedCertificates | undefined,
  supervisor: Supervisor,
): CertificateWatch | undefined {
  const files = settings.proxy.tls;
  if (files === undefined || loaded === undefined) return undefined;
  return new CertificateWatch({
    files,
    loaded,
    log,
    publish: (certificates) => supervisor.setCertificates(certificates),
  });
}

function databaseOf(settings: Settings): DatabaseLocation {
  const location = locateDatabase(settings);
  if ('error' in location) throw new StartError(location.error);
  return location;
}

function startError(what: string, error: unknown): StartError {
  return new StartError(`${what}: ${error instanceof Error ? error.message : String(error)}`, error);
}

function logReady(
  { settings, version, log, repository, state }: Parts,
  managementPort: number,
  proxyPort: number,
): void {
  log.info(
    {
      version,
      proxy: `${settings.proxy.host}:${proxyPort}`,
      management: `${settings.server.host}:${managementPort}`,
      workers: settings.workers,
      database: repository.driver,
      config_version: state.configVersion,
    },
    'headgate is ready',
  );
}
