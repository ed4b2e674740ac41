/**
 * The node's facts for `/metrics` in addition to the counts of its workers, from the configuration and the database.
 */
import { withTimeout } from '../lib/with-timeout.ts';
import { revisionKey, type BreakerFact, type TargetFact } from '../observe/prometheus.ts';
import { Breaker } from '../proxy/resilience/breaker.ts';
import type { HealthRegistry } from '../control/health/health-registry.ts';
import type { ConfigState } from '../control/cluster/config-state.ts';
import type { Repository } from '../storage/repository.ts';

/** Timeout for the database, since the other metrics matter most when it does not answer. */
const PING_TIMEOUT_MS = 1_000;
/** Beyond this number, breakers are reported only while they are not closed. */
const BREAKERS_MAX = 5_000;
/** The same for targets, beyond which only those out of service are reported. */
const TARGETS_MAX = 5_000;

/** Whether the database answers now. */
export async function answers(repository: Repository): Promise<boolean> {
  const answered = repository.ping().then(
    () => true,
    () => false,
  );
  return (await withTimeout(PING_TIMEOUT_MS, answered)) ?? false;
}

/** Keys of the configured revisions. */
export function revisionsInUse(state: ConfigState): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { app, version, revision } of state.revisions())
    keys.add(revisionKey({ app: app.slug, version: version.version, revision: revision.revision }));
  return keys;
}

/** The breakers and targets of current revisions. */
export function backendFacts(state: ConfigState, health: HealthRegistry) {
  return { breakers: breakerFacts(state), targets: targetFacts(state, health) };
}

/** Of revisions with several. */
function* targetFacts(state: ConfigState, health: HealthRegistry): IterableIterator<TargetFact> {
  let count = 0;
  for (const { app, version, revision } of state.revisions()) {
    if (!revision.is_current || revision.targets === null) continue;
    for (const target of health.targets.healthOf(revision) ?? []) {
      const isInService = target.share > 0;
      if (++count > TARGETS_MAX && isInService) continue;
      const name = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
      const labels = { app: app.slug, version: version.version, revision: revision.revision, target: name };
      const { in_flight: inFlight, requests, failures, ejections } = target;
      yield { labels, isInService, inFlight, requests, failures, ejections };
    }
  }
}

function* breakerFacts(state: ConfigState): IterableIterator<BreakerFact> {
  let count = 0;
  for (const { app, version, revision } of state.revisions()) {
    const memory = revision.is_current ? state.breakerOf(revision.id) : undefined;
    if (memory === undefined) continue;
    const breaker = new Breaker(memory);
    if (++count > BREAKERS_MAX && breaker.isClosed) continue;
    const labels = { app: app.slug, version: version.version, revision: revision.revision };
    yield { labels, state: breaker.status.state };
  }
}
