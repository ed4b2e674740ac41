/**
 * The node's facts for `/metrics` in addition to the counts of its workers, from the configuration and the database.
 */
import { withTimeout } from '../lib/with-timeout.ts';
import { revisionKey, type BreakerFact } from '../observe/prometheus.ts';
import { Breaker } from '../proxy/resilience/breaker.ts';
import type { ConfigState } from '../control/cluster/config-state.ts';
import type { Repository } from '../storage/repository.ts';

/** Timeout for the database, since the other metrics matter most when it does not answer. */
const PING_TIMEOUT_MS = 1_000;
/** Beyond this number, breakers are reported only while they are not closed. */
const BREAKERS_MAX = 5_000;

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

/** The breakers of current revisions. */
export function* breakerFacts(state: ConfigState): IterableIterator<BreakerFact> {
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
