/** Wires the report of this gateway's state, and how it asks the other gateways for theirs. */
import { timestamp } from '../lib/clock.ts';
import { counterUse } from '../limits/local/counter-use.ts';
import type { GatewayState, NodeState } from '../management/schemas/overview/state-schema.ts';
import { parseRedisUrl, redisAddress } from '../model/redis-url.ts';
import { Breaker } from '../proxy/resilience/breaker.ts';
import { certificateState } from '../control/certificates/certificate-ends.ts';
import type { Cluster } from '../control/cluster/cluster.ts';
import { StateShare } from '../control/cluster/state-share.ts';
import type { ExportFacts, SignalFacts } from '../control/reporting/trace-export.ts';
import type { ConfigFile } from '../control/config-file/config-file.ts';
import { databaseAddress } from '../storage/database-url.ts';
import type { Supervisor } from '../control/workers/supervisor.ts';
import { orderedCertificateFacts } from './acme.ts';
import type { CertificateWatches } from './listener-certificates.ts';
import { answers } from './node-facts.ts';
import type { Parts } from './parts.ts';

const PING_TIMEOUT_MS = 2_000;
/** Limit of certificates by ACME in the report; those that expire first are kept. */
const ORDERED_SHOWN_MAX = 50;
const DAY_MS = 86_400_000;

export interface StateParts {
  readonly supervisor: Supervisor;
  readonly cluster: Cluster;
  readonly watches: CertificateWatches;
  readonly configFile: ConfigFile | undefined;
  readonly uptimeSecs: () => number;
}

/** Reads the states of all gateways on the database. */
export function stateAccess(parts: Parts, others: StateParts): () => Promise<readonly NodeState[]> {
  const { cluster } = others;
  const own = (): Promise<GatewayState> => ownState(parts, others);
  const { log, troubles } = parts;
  const share = new StateShare({ cluster, log, own, vanished: () => troubles.nodes.vanished });
  return () => share.read();
}

async function ownState(parts: Parts, others: StateParts): Promise<GatewayState> {
  const { settings, limitMemory } = parts;
  const { supervisor, uptimeSecs } = others;
  const { counters, bytes, bytesPeak, bytesMax, evictions } = counterUse(limitMemory);
  return {
    uptime_secs: uptimeSecs(),
    workers: { listening: supervisor.listeningCount, configured: settings.workers },
    database: await databaseState(parts, others),
    limit_store: limitStoreState(parts),
    limit_counters: {
      counters,
      bytes,
      bytes_peak: bytesPeak,
      bytes_max: bytesMax,
      evictions: [...evictions.values()].reduce((sum, count) => sum + count, 0),
    },
    certificates: certificateStates(parts, others),
    breakers: breakerCounts(parts),
    targets: parts.health.targets.phaseCounts(),
    telemetry: telemetryState(parts.traces?.facts),
    zone: settings.zone ?? null,
  };
}

async function databaseState(
  { repository, settings, clock, clockWatch }: Parts,
  { configFile }: StateParts,
): Promise<GatewayState['database']> {
  if (configFile !== undefined) {
    const nothing = { address: null, detail: null, latency_ms: null, clock_ahead_ms: null };
    return { driver: 'none', state: 'ok', ...nothing };
  }
  const startMs = clock.monotonicMs();
  const isUp = await answers(repository, PING_TIMEOUT_MS);
  return {
    driver: repository.driver,
    address: databaseAddress(settings.database.url),
    state: isUp ? 'ok' : 'error',
    detail: isUp ? null : 'The database does not answer',
    latency_ms: isUp ? rounded(clock.monotonicMs() - startMs) : null,
    clock_ahead_ms: clockWatch.aheadMs ?? null,
  };
}

function limitStoreState({ settings, limitNode }: Parts): GatewayState['limit_store'] {
  const target = settings.limits.redisUrl === undefined ? undefined : parseRedisUrl(settings.limits.redisUrl);
  if (target === undefined || limitNode === undefined) return null;
  const { isConnected, latencyMs, nodes, problem, memoryOfStore: memory } = limitNode;
  return {
    kind: target.kind,
    address: redisAddress(target),
    connected: isConnected,
    latency_ms: latencyMs === undefined ? null : rounded(latencyMs),
    nodes: nodes.count,
    fallback: problem ?? null,
    memory:
      memory === undefined
        ? null
        : { bytes: memory.usedBytes, bytes_max: memory.maxBytes ?? null, policy: memory.policy },
  };
}

function certificateStates(parts: Parts, { watches }: StateParts): GatewayState['certificates'] {
  const nowMs = parts.clock.nowMs();
  const ordered = orderedCertificateFacts(parts, ORDERED_SHOWN_MAX);
  return (['traffic', 'management', 'backends', 'clients', 'collectors'] as const).flatMap((listener) =>
    [...(watches.facts[listener] ?? []), ...(listener === 'traffic' ? ordered : [])].map((facts) => ({
      listener,
      names: [...facts.names],
      valid_from: timestamp(facts.validFromMs),
      expires_at: timestamp(facts.expiresAtMs),
      days_left: Math.floor((facts.expiresAtMs - nowMs) / DAY_MS),
      state: certificateState(facts, nowMs),
      crl_update_due_at: listener === 'clients' ? crlUpdateDueAt(watches, facts.names) : null,
    })),
  );
}

function crlUpdateDueAt({ trust }: CertificateWatches, [name = '']: readonly string[]): string | null {
  const dueMs = trust?.nextUpdateMs(name);
  return dueMs === undefined ? null : timestamp(dueMs);
}

function breakerCounts({ state }: Parts): GatewayState['breakers'] {
  const counts = { closed: 0, half_open: 0, open: 0 };
  for (const { revision } of state.revisions()) {
    const memory = revision.is_current ? state.breakerOf(revision.id) : undefined;
    if (memory !== undefined) counts[new Breaker(memory).status.state] += 1;
  }
  return counts;
}

function telemetryState(facts: ExportFacts | undefined): GatewayState['telemetry'] {
  return {
    traces: signalState(facts?.traces),
    metrics: signalState(facts?.metrics),
    logs: signalState(facts?.logs),
  };
}

function signalState(facts: SignalFacts | undefined): GatewayState['telemetry']['traces'] {
  if (facts === undefined) {
    const nothing = { exported: 0, dropped: 0, failed: 0, waiting_bytes: null, last_failure: null };
    return { state: 'off', endpoint: null, ...nothing };
  }
  const { url, exported, dropped, failed, queuedBytes, problem, lastFailure } = facts;
  return {
    state: problem === '' ? 'ok' : 'failing',
    endpoint: collectorAddress(url),
    exported,
    dropped,
    failed,
    waiting_bytes: queuedBytes ?? null,
    last_failure:
      lastFailure === undefined ? null : { at: timestamp(lastFailure.atMs), detail: lastFailure.detail },
  };
}

/** The URL without the parts that may contain credentials. */
function collectorAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10;
