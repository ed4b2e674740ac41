/** Wires the management API to the running gateway. */
import { loopbackOf } from '../lib/listeners.ts';
import { rmSync } from 'node:fs';
import { unixSocketProblem } from '../control/unix-socket/unix-listener.ts';
import { globalsOf, policySettings } from '../control/workers/policy-settings.ts';
import { peerList } from '../egress/blocks.ts';
import { askSystem } from '../egress/name-queries.ts';
import { folderAbove } from '../egress/unix-sockets.ts';
import { inSlices } from '../config/changes/slices.ts';
import { normaliseAddress } from '../http/address.ts';
import { SharedConcurrencyStore } from '../limits/concurrency.ts';
import { counterUse } from '../limits/local/counter-use.ts';
import { SharedMemoryLimitStore } from '../limits/local/local-store.ts';
import { readConsoleFiles, type ConsoleFiles } from '../management/console/console-files.ts';
import type { ManagementStatus, ShadowReports } from '../management/context.ts';
import type { Convert } from '../management/import/conversion-job.ts';
import type { ManagementListening } from '../management/listening.ts';
import { createManagementServer, type ManagementDependencies } from '../management/server.ts';
import type { OwnListener } from '../management/try/send-request.ts';
import type { WriteDependencies } from '../management/write/write.ts';
import type { EventUse } from '../observe/metrics/event-metrics.ts';
import { renderMetrics } from '../observe/metrics/prometheus.ts';
import { createPolicyCompiler } from '../policy/compile-policy.ts';
import type { CompiledPolicy } from '../policy/stage.ts';
import type { CertificatePair } from '../proxy/downstream/tls/tls-certificate.ts';
import { Breaker } from '../proxy/resilience/breaker.ts';
import { configCopyReader } from '../control/fallback/config-copy-reader.ts';
import { explainAccess, type ConfigTrials } from '../explain/explain-access.ts';
import { fallbackText } from '../control/fallback/start-database.ts';
import type { ConfigFile } from '../control/config-file/config-file.ts';
import { Profiles } from '../control/profiles/profiles.ts';
import { explainConfigs } from '../control/trial/explain-configs.ts';
import { importThreads } from '../control/trial/import-thread.ts';
import { replayTraffic } from '../control/trial/traffic-replay.ts';
import { TrialThreads } from '../control/trial/trial-thread.ts';
import type { Supervisor } from '../control/workers/supervisor.ts';
import type { SettingInForce } from '../settings/settings-in-force.ts';
import type { Settings } from '../settings/settings.ts';
import type { PolicyCompiler } from '../config/types.ts';
import { compiledDifference } from '../config/changes/compiled-difference.ts';
import { validateChange } from '../config/changes/validate-change.ts';
import { eventFacts } from './events/event-parts.ts';
import { certificateMetrics, ownCertificates, servesTls } from './acme.ts';
import { assertAcceptable } from './changes.ts';
import { answers, backendFacts, boundsOf, healthOf, revisionsInUse } from './node-facts.ts';
import { namesOf, type CertificateWatches } from './listener-certificates.ts';
import type { Changes, Parts } from './parts.ts';
import { nodesAccess, statsAccess } from './start-stats.ts';
import { isClockWrong, wrongClockText } from '../control/database/clock-watch.ts';
import { lackText } from '../control/problems/certificate-problems.ts';
import { trustAccess, type TrustAccess } from '../control/certificates/trust-access.ts';
import { heartbeatReason } from '../control/problems/heartbeat-problems.ts';
import { problemsOf } from './problems.ts';
import { stateAccess } from './state.ts';
import { listenError } from './start-error.ts';
import { TrustStore } from '../x509/trust-store.ts';
import { counted } from '../lib/text/counted.ts';

/** The number under which the main thread owns locks of the limit memory; workers count from 1. */
const MAIN_THREAD_OWNER = 0x7fff;
/** The same for the thread that runs trials of configurations. */
const TRIAL_THREAD_OWNER = 0x7ffe;

/** What writes need, whether they come from the management API or from files. */
export function writeDependencies(parts: Parts, { configSync, cluster }: Changes): WriteDependencies {
  const { repository, state, clock } = parts;
  const compilePolicy = checkingCompiler(parts);
  return {
    repository,
    publish: (change) => configSync.publish(change),
    // Only PostgreSQL has other writers whose changes could be missed.
    ...(repository.driver === 'postgres' && { known: () => state.position }),
    settle: (configVersion) => cluster.settle(configVersion),
    async validateChange(change, missed) {
      const toCompile = await inSlices(compiledDifference(change, state, () => true));
      await inSlices(validateChange(toCompile, compilePolicy));
      assertAcceptable(state, change, missed);
    },
    clock,
  };
}

/** `serving` begins when everything works and the process has claimed its folder. */
export type Phase = 'starting' | 'serving' | 'stopping';

/** What the management API needs besides the parts. */
export interface ManagementParts {
  readonly writing: WriteDependencies;
  /** undefined: the configuration comes from a database. */
  readonly configFile: ConfigFile | undefined;
  /** The programs of the threads. */
  readonly threads: { readonly trialUrl: URL; readonly importUrl: URL };
  /** The settings as the API shows them, with secrets masked. */
  readonly shownSettings: readonly SettingInForce[];
  readonly phase: () => Phase;
  readonly mayWrite: () => Promise<void>;
}

export async function createManagement(
  parts: Parts,
  supervisor: Supervisor,
  { cluster }: Changes,
  certificates: { readonly watches: CertificateWatches; readonly management: CertificatePair | undefined },
  { writing, configFile, threads, shownSettings, phase, mayWrite }: ManagementParts,
): Promise<ManagementListening> {
  const { settings, version, clock, log, repository, state } = parts;
  const startedMs = clock.monotonicMs();
  const uptimeSecs = (): number => Math.floor((clock.monotonicMs() - startedMs) / 1000);
  const { watches } = certificates;
  const trust = trustAccess(state, cluster, () => watches.trust?.files ?? new Map(), log);
  const others = { supervisor, cluster, configFile, watches, trust, uptimeSecs };
  const states = stateAccess(parts, others);
  const metricsText = metricsReader(parts, supervisor, configFile, watches);
  parts.traces?.readMetrics(metricsText);
  return createManagementServer({
    ...writing,
    mayWrite,
    nodes: nodesAccess(cluster),
    adminToken: settings.adminToken,
    authFailuresPerMinute: settings.server.authFailuresPerMinute,
    sessions: sessionSettings(settings),
    oidc: settings.oidc,
    isTrustedProxy: peerList(settings.trustedProxyIps),
    tls: certificates.management,
    swaggerEnabled: settings.server.swaggerEnabled,
    console: await consoleFiles(parts),
    policyGlobals: globalsOf(settings),
    limitSettings: policySettings(settings),
    egress: parts.egress,
    jwtDefaults: settings.jwt,
    copy: configCopyReader(state),
    status: {
      dbDriver: configFile === undefined ? repository.driver : 'none',
      uptimeSecs,
      fallback: () => fallbackText(parts),
      limits: () => parts.limitNode?.problem,
      heartbeat: () => heartbeatReason(cluster.heartbeatFailure),
      clock: () => clockProblem(parts),
      secrets: () => parts.secretWatch.problem,
      ...certificateStatus(parts, watches, trust),
      configFile: () => configFile?.status,
      ready: () => readiness(phase(), supervisor.listeningCount, settings.workers),
      breakerState: (revisionId) => breakerStateOf(parts, revisionId),
      revisionHealth: (revision) => healthOf(parts, revision),
      stats: statsAccess(parts, cluster),
      states,
      problems: () => problemsOf(parts, { ...others, states }),
    },
    shadow: shadowReports(parts, supervisor),
    ...watching(parts, supervisor, cluster.selfId),
    onRefusedLogin: (address) => parts.sources.loginRefused(address),
    profiles: new Profiles(supervisor.questions),
    ...inThreads(parts, supervisor, threads),
    settings: shownSettings,
    served: state,
    ownListener: () => ownTrafficListener(parts),
    metricsText,
    logger: log,
    version,
  });
}

/** The text of `GET /metrics`. */
function metricsReader(
  parts: Parts,
  supervisor: Supervisor,
  configFile: ManagementParts['configFile'],
  watches: CertificateWatches,
): () => Promise<string> {
  const { version, repository, state, limitMemory, metrics } = parts;
  return async () => {
    const [samples, events, isUp] = await Promise.all([
      supervisor.questions.samples(),
      eventFacts(parts.events, repository),
      configFile === undefined && answers(repository),
    ]);
    return renderMetrics(metrics.merge(samples, revisionsInUse(state)), {
      version,
      bounds: boundsOf(parts),
      keys: state.keys,
      ...certificateMetrics(parts, watches),
      ...backendFacts(parts),
      database: configFile === undefined ? { driver: repository.driver, isUp } : undefined,
      configFile: configFile && { ...configFile.status, reloads: configFile.reloads },
      history: configFile === undefined ? parts.history.facts : undefined,
      clockAheadMs: parts.clockWatch.aheadMs,
      ...reportingFacts(parts, events),
      limitCounters: counterUse(limitMemory),
      limitStore: limitStoreFacts(parts),
    });
  };
}

const limitStoreFacts = ({ limitNode }: Parts) =>
  limitNode && { nodes: limitNode.nodes.count, memory: limitNode.memoryOfStore };

const reportingFacts = ({ live, traces, stats }: Parts, events: EventUse) => ({
  events,
  live: live.facts,
  traces: traces?.facts,
  stats,
});

/**
 * The address by which this machine reaches its traffic listener; undefined while there is none, or when the name of
 * the setting no longer leads to this machine.
 */
async function ownTrafficListener({ settings, ownListeners }: Parts): Promise<OwnListener | undefined> {
  const { host, tls, tlsPort } = settings.proxy;
  // On that port, requests without TLS may only get redirects. Ordered certificates cover only the names of some
  // hosts.
  const name = tlsPort === undefined || tls === undefined ? 'traffic' : 'traffic_tls';
  const isSecure = tlsPort === undefined ? servesTls(settings) : tls !== undefined;
  const port = ownListeners.portOf(name);
  if (port === 0) return undefined;
  const address = loopbackOf(host) ?? (await addressOfHost(host));
  if (address === undefined || ownListeners.at(address, port) !== name) return undefined;
  const isAnnounced = peerList(settings.proxy.proxyProtocolFrom);
  return { address, port, isSecure, isAnnounced };
}

async function addressOfHost(host: string): Promise<string | undefined> {
  try {
    const [found] = await askSystem(host);
    return found && normaliseAddress(found.address);
  } catch {
    return undefined;
  }
}

function clockProblem({ clockWatch }: Parts): string | undefined {
  const { aheadMs } = clockWatch;
  return aheadMs !== undefined && isClockWrong(aheadMs) ? wrongClockText('The clock', aheadMs) : undefined;
}

function breakerStateOf({ state, clock }: Parts, revisionId: string): unknown {
  const memory = state.breakerOf(revisionId);
  return memory === undefined ? undefined : new Breaker(memory).view(clock.nowMs());
}

/** The parts that show traffic and events to clients of the management API. */
function watching({ live, explain, events }: Parts, supervisor: Supervisor, nodeId: string) {
  live.attach({ nodeId, publish: () => void supervisor.questions.publishExplainSetup() });
  const testWebhook: ManagementDependencies['testWebhook'] = (webhook) => events.sender.test(webhook);
  return { live, testWebhook, explain: explainAccess(explain, supervisor.questions) };
}

function sessionSettings({ console: { sessionIdleSecs, sessionMaxSecs } }: Settings) {
  return { idleSecs: sessionIdleSecs, maxSecs: sessionMaxSecs };
}

/** Work that could block the main thread runs in threads of its own. */
function inThreads(
  parts: Parts,
  supervisor: Supervisor,
  { trialUrl, importUrl }: ManagementParts['threads'],
): { readonly trials: ConfigTrials; readonly convertDescription: Convert } {
  return {
    trials: configTrials(parts, supervisor, trialUrl),
    convertDescription: importThreads({ url: importUrl, version: parts.version, log: parts.log }),
  };
}

/** Trials of configurations that are not in force run in a thread of their own. */
function configTrials(
  { settings, version, state, limitMemory, ownPorts, log }: Parts,
  supervisor: Supervisor,
  url: URL,
): ConfigTrials {
  const { viaName = 'headgate-trial' } = settings.proxy;
  const isSecure = servesTls(settings);
  const owner = TRIAL_THREAD_OWNER;
  const start = { version, settings, limitMemory, ownPorts, viaName, isSecure, owner };
  const trials = new TrialThreads(url, start, log);
  const trafficRecords = (): Promise<string[]> => supervisor.questions.trafficRecords();
  return {
    replayTraffic: (change) => replayTraffic(change, { state, trials, trafficRecords }),
    explainConfigs: (task) => explainConfigs(trials, task),
  };
}

export async function listenForManagement(
  management: ManagementListening,
  settings: Settings,
  portFreed: () => Promise<void>,
): Promise<number> {
  const { host, port, unixSocket: path, unixSocketMode } = settings.server;
  let bound: number;
  try {
    await portFreed();
    bound = (await management.listen(host, port)).port;
  } catch (error) {
    throw listenError('management', `${host}:${port}`, 'GATEWAY_SERVER__PORT', error);
  }
  if (path === undefined) return bound;
  try {
    // Paths are compared as text; symbolic links are not resolved.
    const above = folderAbove(path, settings.egress.unixSocketsFrom);
    if (above !== undefined)
      throw new Error(
        `it is below "${above}" of GATEWAY_PROXY__UNIX_SOCKETS_FROM: a revision could name that socket as its backend`,
      );
    await management.listenOnPath({ path, mode: unixSocketMode, makeWay: () => makeWayAt(path) });
  } catch (error) {
    throw listenError('management', path, 'GATEWAY_SERVER__UNIX_SOCKET', error);
  }
  return bound;
}

/** Removes the socket of a gateway that was killed. */
async function makeWayAt(path: string): Promise<void> {
  const problem = await unixSocketProblem(path);
  if (problem !== undefined) throw new Error(problem);
  rmSync(path, { force: true });
}

function readiness(
  phase: Phase,
  listening: number,
  workers: number,
): { readonly ready: boolean; readonly reason: string | undefined } {
  if (phase === 'stopping') return { ready: false, reason: 'the gateway is stopping' };
  if (listening === 0)
    return { ready: false, reason: `none of ${counted(workers, 'worker')} accepts connections yet` };
  if (phase === 'starting') return { ready: false, reason: 'the gateway is starting' };
  return { ready: true, reason: undefined };
}

function certificateStatus(
  parts: Parts,
  watches: CertificateWatches,
  trust: TrustAccess,
): Pick<
  ManagementStatus,
  | 'certificates'
  | 'certificateNames'
  | 'clientCertificateNames'
  | 'ownCertificates'
  | 'readsTargetFiles'
  | 'trusted'
> {
  return {
    certificates() {
      const problems = [watches.problem, ...trust.ownLacks().map(lackText)].filter(
        (text) => text !== undefined,
      );
      return problems.length === 0 ? undefined : problems.join('. ');
    },
    certificateNames: () => (servesTls(parts.settings) ? namesOf(watches, 'traffic') : undefined),
    ownCertificates: ownCertificates(parts, watches),
    clientCertificateNames: () => namesOf(watches, 'backends'),
    readsTargetFiles: parts.settings.discovery.folder !== undefined,
    trusted: {
      names: () => namesOf(watches, 'clients'),
      problemOf: (name) => watches.trust?.problemOf(name),
      hasTls: () => servesTls(parts.settings),
    },
  };
}

/** Compiles policies only to validate them: it counts nothing and fetches nothing. */
function checkingCompiler({ settings, limitMemory, clock, egress }: Parts): PolicyCompiler<CompiledPolicy> {
  const nothing = (): void => undefined;
  return createPolicyCompiler({
    clock,
    limits: new SharedMemoryLimitStore(limitMemory, MAIN_THREAD_OWNER),
    concurrency: new SharedConcurrencyStore(limitMemory.concurrency, limitMemory.hashKey, MAIN_THREAD_OWNER),
    keys: {
      findPresentedKey: () => undefined,
      generation: 0,
    },
    ...policySettings(settings),
    trust: new TrustStore(),
    egress,
    onAuth: nothing,
    onLimit: nothing,
    onJwksFailure: nothing,
    onJwksRecovery: nothing,
    onJwksKeySkipped: nothing,
  });
}

/**
 * The workers send their shadow counts before they answer with their metrics, so both calls see every request so far.
 */
function shadowReports({ shadowHistory, clock }: Parts, supervisor: Supervisor): ShadowReports {
  return {
    read: async (appId, filter) => {
      await supervisor.questions.samples();
      return shadowHistory.read(appId, filter, clock.nowMs());
    },
    reset: async (appId) => {
      await supervisor.questions.samples();
      shadowHistory.reset(appId, clock.nowMs());
    },
  };
}

/** Reads the files of the console. A console that cannot be read does not stop the gateway. */
async function consoleFiles({ settings: { consoleFolder }, log }: Parts): Promise<ConsoleFiles | undefined> {
  if (consoleFolder === undefined) return undefined;
  try {
    return await readConsoleFiles(consoleFolder);
  } catch (error) {
    log.warn(
      { err: error, folder: consoleFolder },
      'the console is not available: its folder cannot be used',
    );
    return undefined;
  }
}
