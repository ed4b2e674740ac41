/**
 * The node's facts for `/metrics` in addition to the counts of its workers, from the configuration and the database.
 */
import { getHeapStatistics } from 'node:v8';
import { withTimeout } from '../lib/with-timeout.ts';
import { shownPlace } from '../config/backend.ts';
import { isBalanced } from '../config/targets.ts';
import type { DiscoveryWatch } from '../control/discovery/discovery-watch.ts';
import type { RevisionHealth } from '../management/schemas/revision-health.ts';
import type { Revision } from '../model/resources.ts';
import { revisionKey } from '../observe/metrics/metric-records.ts';
import type { BreakerFact } from '../observe/metrics/traffic-metrics.ts';
import type { NodeBounds } from '../observe/metrics/worker-metrics.ts';
import type { DiscoveryFact, TargetFact } from '../observe/metrics/target-metrics.ts';
import { Breaker } from '../proxy/resilience/breaker.ts';
import type { HealthRegistry } from '../control/health/health-registry.ts';
import type { ConfigState, RevisionPlace } from '../control/cluster/config-state.ts';
import type { Repository } from '../storage/repository.ts';
import type { Parts } from './parts.ts';

/** Timeout for the database, since the other metrics matter most when it does not answer. */
const PING_TIMEOUT_MS = 1_000;
/** Beyond this number, breakers are reported only while they are not closed. */
const BREAKERS_MAX = 5_000;
/** Beyond this number, targets are reported only while they are out of service. */
const TARGETS_MAX = 5_000;

/** Whether the database answers within a time. */
export async function answers(repository: Repository, timeoutMs = PING_TIMEOUT_MS): Promise<boolean> {
  const answered = repository.ping().then(
    () => true,
    () => false,
  );
  return (await withTimeout(timeoutMs, answered)) ?? false;
}

function labelsOf({ app, version, revision }: RevisionPlace) {
  return { app: app.slug, version: version.version, revision: revision.revision };
}

/** Keys of the configured revisions. */
export function revisionsInUse(state: ConfigState): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const place of state.revisions()) keys.add(revisionKey(labelsOf(place)));
  return keys;
}

/** The breakers, targets and discovery of current revisions. */
export function backendFacts({ state, health, discovery }: Pick<Parts, 'state' | 'health' | 'discovery'>) {
  return {
    breakers: breakerFacts(state),
    targets: targetFacts(state, health),
    discovery: { looks: discovery.counts, revisions: discoveryFacts(state, discovery) },
  };
}

/** What this node knows about the health of a revision. */
export function healthOf(
  { health, discovery }: Pick<Parts, 'health' | 'discovery'>,
  revision: Revision,
): RevisionHealth {
  const found = discovery.healthOf(revision);
  return { ...health.healthOf(revision), ...(found !== undefined && { discovery: found }) };
}

function* discoveryFacts(state: ConfigState, discovery: DiscoveryWatch): IterableIterator<DiscoveryFact> {
  let count = 0;
  for (const place of state.revisions()) {
    const { revision } = place;
    const found = revision.is_current ? discovery.healthOf(revision) : undefined;
    if (found === undefined) continue;
    const isStale = found.stale_since !== null;
    if (++count > TARGETS_MAX && !isStale) continue;
    yield { labels: labelsOf(place), targets: found.targets, isStale };
  }
}

/** The targets of revisions that have several. */
function* targetFacts(state: ConfigState, health: HealthRegistry): IterableIterator<TargetFact> {
  let count = 0;
  for (const place of state.revisions()) {
    const { revision } = place;
    if (!revision.is_current || !isBalanced(revision)) continue;
    for (const target of health.targets.healthOf(revision) ?? []) {
      const isInService = target.share > 0;
      if (++count > TARGETS_MAX && isInService) continue;
      const labels = { ...labelsOf(place), target: shownPlace(target.host, target.port) };
      const { in_flight: inFlight, requests, failures, ejections } = target;
      yield { labels, isInService, inFlight, requests, failures, ejections };
    }
  }
}

function* breakerFacts(state: ConfigState): IterableIterator<BreakerFact> {
  let count = 0;
  for (const place of state.revisions()) {
    const { revision } = place;
    const memory = revision.is_current ? state.breakerOf(revision.id) : undefined;
    if (memory === undefined) continue;
    const breaker = new Breaker(memory);
    if (++count > BREAKERS_MAX && breaker.isClosed) continue;
    yield { labels: labelsOf(place), state: breaker.status.state };
  }
}

/** The limits of the workers, for problems that report a worker close to one. */
export const boundsOf = ({ settings: { workers, proxy } }: Parts): NodeBounds => ({
  workers,
  connections: proxy.maxConnections,
  exchanges: proxy.maxConcurrentExchanges,
  // Each worker has the same limit as the main thread.
  heapBytes: getHeapStatistics().heap_size_limit,
});
