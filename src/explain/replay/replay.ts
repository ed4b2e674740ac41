/**
 * Tries the same recorded requests on two configurations: the one in force, and the one after a change. Both are
 * tried now, with the current counters, so that only the change makes a difference. Runs in a thread of its own
 * (replay-worker.ts): nothing here is served.
 */
import type { ConfigChange } from '../../model/config.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import type { Clock } from '../../lib/clock.ts';
import { readRecord, readRequest, type TrafficRecord } from '../traffic/traffic-record.ts';
import type { FindKeyById, RecordedCallers } from './recorded-callers.ts';
import { isSameOutcome, type ReplayOutcome } from './replay-outcome.ts';
import { ReplayGroups, type ReplayGroup } from './replay-groups.ts';
import type { RunRequest } from './request-runner.ts';

export interface ReplayJob {
  /** Everything that is in force, with `reset` and without keys. */
  readonly base: ConfigChange;
  readonly change: ConfigChange;
  /** Results of `recordOf`, in any order. */
  readonly records: readonly string[];
  /** The keys of the records, in their current state. */
  readonly keys: readonly StoredApiKey[];
  /** Time for the trial. The latest requests that fit into it are tried. */
  readonly timeMs: number;
}

export interface ReplayResult {
  /** Requests that were tried, the latest of those recorded. */
  readonly requests: number;
  readonly recorded: number;
  /** Start of the earliest request that was tried, Unix milliseconds; undefined without one. */
  readonly sinceMs: number | undefined;
  readonly changed: number;
  /** Excluded from `changed`: the record lacks a value that the planned configuration needs. */
  readonly undecided: number;
  readonly groups: readonly ReplayGroup[];
  readonly groups_total: number;
}

export interface ReplayParts {
  readonly run: RunRequest;
  readonly callers: RecordedCallers;
  readonly clock: Clock;
  /** Makes a configuration the one that `run` asks. Throws when it does not compile. */
  apply(change: ConfigChange): void;
}

/** Throws when a configuration does not compile. */
export async function replay(job: ReplayJob, parts: ReplayParts): Promise<ReplayResult> {
  const records = job.records.map(readRecord).toSorted((a, b) => a.startedMs - b.startedMs);
  const startedMs = parts.clock.monotonicMs();
  const keys = new Map(job.keys.map((key) => [key.id, key]));
  parts.callers.askInForce((id) => keys.get(id));
  parts.apply(job.base);
  // Each distinct request once, the latest first.
  const requests = [...new Set(records.map(({ request }) => request).reverse())];
  const before = await outcomes(requests, parts, startedMs + job.timeMs / 2);
  parts.callers.askPlanned(keysAfter(keys, job.change));
  const { configVersion } = job.base;
  const { after: _after, ...change } = job.change;
  parts.apply({ ...change, configVersion: configVersion + 1, keys: [], removedKeyIds: [] });
  const after = await outcomes([...before.keys()], parts, startedMs + job.timeMs);
  return compared(records, before, after);
}

function keysAfter(keys: ReadonlyMap<string, StoredApiKey>, change: ConfigChange): FindKeyById {
  const changed = new Map(change.keys.map((key) => [key.id, key]));
  const removed = new Set(change.removedKeyIds);
  return (id) => changed.get(id) ?? (removed.has(id) ? undefined : keys.get(id));
}

/** Outcomes of as many requests as fit into the time. */
async function outcomes(
  requests: readonly string[],
  { run, clock }: ReplayParts,
  untilMs: number,
): Promise<Map<string, ReplayOutcome>> {
  const found = new Map<string, ReplayOutcome>();
  for (const request of requests) {
    if (clock.monotonicMs() >= untilMs) break;
    found.set(request, await run(request));
  }
  return found;
}

function compared(
  records: readonly TrafficRecord[],
  before: ReadonlyMap<string, ReplayOutcome>,
  after: ReadonlyMap<string, ReplayOutcome>,
): ReplayResult {
  const groups = new ReplayGroups();
  let requests = 0;
  let undecided = 0;
  let sinceMs = Infinity;
  for (const record of records) {
    const [old, fresh] = [before.get(record.request), after.get(record.request)];
    if (old === undefined || fresh === undefined) continue;
    requests += 1;
    sinceMs = Math.min(sinceMs, record.startedMs);
    const isSame = isSameOutcome(old, fresh);
    if (isSame ? fresh.isGuessed && !old.isGuessed : fresh.isGuessed || old.isGuessed) undecided += 1;
    else if (!isSame) groups.add(record, readRequest(record.request), old, fresh);
  }
  return {
    requests,
    recorded: records.length,
    sinceMs: requests === 0 ? undefined : sinceMs,
    changed: groups.changed,
    undecided,
    groups: groups.list(),
    groups_total: groups.total,
  };
}
