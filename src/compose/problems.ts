/** Wires the list of current problems: asks each part of the gateway when the management API asks. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { isLoopback } from '../lib/listeners.ts';
import type { DeliveryState } from '../storage/delivery-store.ts';
import { counterUse } from '../limits/local/counter-use.ts';
import type { NodeState } from '../management/schemas/overview/state-schema.ts';
import type { Problem } from '../management/schemas/overview/problem-schema.ts';
import type { WorkerSample } from '../observe/metrics/metrics.ts';
import { fallbackText } from '../control/fallback/start-database.ts';
import type { ConfigFile } from '../control/config-file/config-file.ts';
import { breakerProblems, errorProblems } from '../control/problems/backend-problems.ts';
import { discoveryProblems } from '../control/problems/discovery-problems.ts';
import { webhookProblems } from '../control/problems/event-problems.ts';
import { acmeProblems } from '../control/problems/acme-problems.ts';
import {
  certificatesToRenew,
  clientCertificateProblems,
  trustLackProblems,
  trustProblems,
  unusableCertificateProblems,
} from '../control/problems/certificate-problems.ts';
import { clockProblems, type NodeClock } from '../control/problems/clock-problems.ts';
import { found, type FoundProblem } from '../control/problems/found-problem.ts';
import { heartbeatProblems } from '../control/problems/heartbeat-problems.ts';
import { keySetProblems } from '../control/problems/key-set-problems.ts';
import {
  counterProblems,
  descriptorProblems,
  diskProblems,
  memoryProblems,
  statsProblems,
  storeMemoryProblems,
} from '../control/problems/resource-problems.ts';
import { countDescriptors } from '../lib/listeners.ts';
import type { TrustAccess } from '../control/certificates/trust-access.ts';
import type { Supervisor } from '../control/workers/supervisor.ts';
import type { Cluster } from '../control/cluster/cluster.ts';
import { acmeFacts } from './acme.ts';
import { databaseOf } from './database.ts';
import { namesOf, type CertificateWatches } from './listener-certificates.ts';
import type { Parts } from './parts.ts';
import { counted } from '../lib/text/counted.ts';

export interface ProblemParts {
  readonly supervisor: Supervisor;
  readonly cluster: Cluster;
  readonly watches: CertificateWatches;
  readonly configFile: ConfigFile | undefined;
  readonly trust: TrustAccess;
  /** Of all gateways on the database. */
  readonly states: () => Promise<readonly NodeState[]>;
}

export async function problemsOf(parts: Parts, others: ProblemParts): Promise<readonly Problem[]> {
  const { state, health, stats, clock, limitMemory } = parts;
  const { supervisor, cluster, watches, trust } = others;
  const [samples, disk, webhooks, errors, lacks, clocks] = await Promise.all([
    supervisor.questions.samples(),
    diskOf(parts),
    webhookStates(parts),
    stats === undefined ? [] : errorProblems(stats),
    trust.lacks(),
    clocksOf(parts, others),
  ]);
  noteLogLines(parts, samples);
  const problems = [
    ...databaseProblems(parts, others),
    ...workerProblems(parts, supervisor),
    ...parts.programWatch.problems(),
    ...parts.troubles.nodes.problems(),
    ...heartbeatProblems(cluster.heartbeatFailure, cluster.name),
    ...clockProblems(clocks),
    ...breakerProblems(state, health),
    ...discoveryProblems(state, parts.discovery),
    ...errors,
    ...keySetProblems(samples, state),
    ...certificatesToRenew(watches.facts, clock.nowMs()),
    ...unusableCertificateProblems(watches.unusable),
    ...clientCertificateProblems(state, namesOf(watches, 'backends')),
    ...acmeProblems(acmeFacts(parts, watches)),
    ...trustProblems(watches.trust),
    ...trustLackProblems(lacks),
    ...counterProblems(counterUse(limitMemory)),
    ...storeMemoryProblems(parts.limitNode?.memoryOfStore),
    ...statsProblems(stats),
    ...memoryProblems(samples, getHeapStatistics().heap_size_limit),
    ...descriptorProblems(countDescriptors()),
    ...diskProblems(disk),
    ...logProblems(parts),
    ...traceProblems(parts),
    ...collectorFileProblems(parts),
    ...webhookProblems(webhooks),
    ...eventProblems(parts),
    ...secretKeyProblems(parts),
    ...listeningProblems(parts),
  ];
  return problems.map((problem) => ({ ...problem, node: cluster.name }));
}

/** Remembers when workers last dropped log lines. Call it with the samples of all workers. */
export function noteLogLines({ troubles, clock }: Parts, samples: readonly WorkerSample[]): void {
  let dropped = 0;
  for (const { counters } of samples)
    for (const { name, value } of counters) if (name === 'log_lines_dropped') dropped += value;
  troubles.logLines.look(dropped, clock);
}

function databaseProblems(parts: Parts, { configFile }: ProblemParts): FoundProblem[] {
  const { limitNode, history } = parts;
  const problems: FoundProblem[] = [];
  const fallback = fallbackText(parts);
  if (fallback !== undefined) {
    problems.push(found('critical', 'serving_from_snapshot', fallback, { kind: 'database' }));
  }
  const unwritten = parts.snapshotFile?.failure;
  if (unwritten !== undefined) {
    const detail = `The snapshot file could not be written: ${unwritten.reason}. A start without the database would serve an older configuration, or none. Writing is tried again every half minute`;
    const link = { kind: 'settings', setting: 'GATEWAY_SNAPSHOT_FILE' } as const;
    problems.push(found('warning', 'snapshot_file_unwritable', detail, link, unwritten.sinceMs));
  }
  const refused = configFile?.status.problem;
  if (refused !== undefined) {
    const [first] = refused.problems;
    const detail = `${counted(refused.total, 'problem')} in the files; the first: ${first?.file}:${first?.line} ${first?.detail}. The previous configuration is served`;
    const sinceMs = Date.parse(refused.since);
    problems.push(found('critical', 'config_file_refused', detail, { kind: 'config_file' }, sinceMs));
  }
  const limits = limitNode?.problemWithCause;
  if (limits !== undefined) {
    problems.push(
      found('warning', 'limit_store_unavailable', limits, { kind: 'limits' }, limitNode?.problemSinceMs),
    );
  }
  const failingMs = history.facts?.failingSinceMs;
  if (configFile === undefined && failingMs !== undefined) {
    const detail = 'Removing old config versions from the history failed; it grows until that works again';
    problems.push(found('warning', 'history_not_compacted', detail, { kind: 'database' }, failingMs));
  }
  return problems;
}

function workerProblems({ settings, troubles, clock }: Parts, supervisor: Supervisor): FoundProblem[] {
  const problems: FoundProblem[] = [];
  const { listeningCount } = supervisor;
  if (listeningCount < settings.workers) {
    const detail = `${listeningCount} of ${settings.workers} workers accept connections; the ${settings.workers - listeningCount === 1 ? 'other starts' : 'others start'} again`;
    const severity = listeningCount === 0 ? 'critical' : 'warning';
    problems.push(found(severity, 'workers_missing', detail, { kind: 'workers' }));
  }
  const lost = troubles.workersLost.recent(clock);
  if (lost !== undefined) {
    const detail = `${counted(lost.count, 'worker')} died or got stuck in the last ten minutes and had to be replaced; connections were lost. The log has the cause`;
    problems.push(found('warning', 'worker_lost', detail, { kind: 'workers' }, lost.firstMs));
  }
  return problems;
}

function logProblems({ troubles, clock }: Parts): FoundProblem[] {
  const dropped = troubles.logLines.events.recent(clock);
  if (dropped === undefined) return [];
  const detail = `${counted(dropped.count, 'log line was', 'log lines were')} dropped in the last ten minutes: standard output was not read in time, or could not be written, as on a full disk`;
  return [found('warning', 'log_lines_dropped', detail, { kind: 'logs' }, dropped.firstMs)];
}

function traceProblems({ traces }: Parts): FoundProblem[] {
  const problem = traces?.problem ?? '';
  if (problem === '') return [];
  const queuedBytes = traces?.facts.traces?.queuedBytes ?? 0;
  const detail = `${problem}. The data of failed exports is lost; ${counted(queuedBytes, 'byte of spans waits', 'bytes of spans wait')}`;
  const link = { kind: 'settings', setting: 'GATEWAY_OTEL__ENDPOINT' } as const;
  return [found('warning', 'telemetry_not_exported', detail, link, traces?.problemSinceMs)];
}

function collectorFileProblems({ collectorFiles }: Parts): FoundProblem[] {
  const link = { kind: 'settings', setting: 'GATEWAY_OTEL__CLIENT_CERT_FILE' } as const;
  return (collectorFiles?.unusable ?? []).map(({ text, sinceMs }) =>
    found('warning', 'certificate_files_unusable', text, link, sinceMs),
  );
}

/** The states of webhooks. Empty while the database does not answer, which is a problem of its own. */
async function webhookStates({ repository }: Parts): Promise<readonly DeliveryState[]> {
  try {
    return await repository.deliveries.states();
  } catch {
    return [];
  }
}

/** Of all gateways on the database, this one first. */
async function clocksOf({ clockWatch }: Parts, { cluster, states }: ProblemParts): Promise<NodeClock[]> {
  const own = { node: cluster.name, aheadMs: clockWatch.aheadMs ?? null };
  if (cluster.peers.length === 0) return [own];
  const others = (await states()).filter(({ is_self: isSelf }) => !isSelf);
  return [
    own,
    ...others.map(({ node, state }) => ({ node, aheadMs: state?.database.clock_ahead_ms ?? null })),
  ];
}

function eventProblems({ events, troubles, clock }: Parts): FoundProblem[] {
  troubles.events.look(events.recorder.facts.dropped, clock);
  const dropped = troubles.events.events.recent(clock);
  if (dropped === undefined) return [];
  const detail = `${counted(dropped.count, 'event was', 'events were')} not recorded in the last ten minutes: the database was away for too long, or refused them`;
  return [found('warning', 'events_dropped', detail, { kind: 'database' }, dropped.firstMs)];
}

/** A key that has leaked, or that was meant to be removed, still decrypts. */
function secretKeyProblems({ repository, secretWatch }: Parts): FoundProblem[] {
  const link = { kind: 'settings', setting: 'GATEWAY_SECRET_KEY' } as const;
  const { problem } = secretWatch;
  const problems = problem === undefined ? [] : [found('warning', 'secrets_unreadable', problem, link)];
  const keys = secretKeysOf(repository);
  if (keys < 2) return problems;
  const detail = `The gateway has ${keys} secret keys: the first one encrypts, all of them decrypt. When every gateway has the new key first, run "headgate secrets rekey"; when "headgate secrets list" shows that nothing needs the other keys, remove them`;
  return [...problems, found('info', 'secret_key_changing', detail, link)];
}

/** 0 while there has been no database since the start. */
function secretKeysOf(repository: Parts['repository']): number {
  try {
    return repository.secrets.keyIds.length;
  } catch {
    return 0;
  }
}

function listeningProblems({ settings: { server } }: Parts): FoundProblem[] {
  if (server.tls !== undefined || isLoopback(server.host)) return [];
  const detail = `The management API listens on ${server.host} without TLS: admin tokens can be read on the network`;
  const link = { kind: 'settings', setting: 'GATEWAY_SERVER__TLS__CERT_FILE' } as const;
  return [found('warning', 'management_without_tls', detail, link)];
}

async function diskOf({ settings }: Parts): Promise<Parameters<typeof diskProblems>[0]> {
  const { file, snapshotFile } = databaseOf(settings);
  const path = file ?? snapshotFile;
  if (path === undefined) return undefined;
  const folder = dirname(path);
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, folder };
  } catch {
    return undefined;
  }
}
