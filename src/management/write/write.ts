/**
 * The single path of all writes: a transaction with its audit entry, the check that the result compiles, and
 * publishing to the workers before the answer. A dry run takes the same path up to the commit. Owns the order of
 * publishing: changes reach `publish` in the order of their config versions, whatever the number of parallel
 * requests.
 *
 * A change that was committed but could not be published is answered with 500; it is stored, and `publish` is
 * responsible for bringing the workers up to date with it.
 */
import { withBudget } from '../../lib/deadline-budget.ts';
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { WriteDescription } from '../../model/history/config-history.ts';
import type { ConfigChange, ConfigPosition, ChangeSet } from '../../model/config.ts';
import type { Warning } from '../../model/warnings.ts';
import { SecretKeyMissing, StorageUnavailable, UniqueViolation } from '../../storage/storage-errors.ts';
import type { ConfigReader, ConfigWriter, Repository } from '../../storage/repository.ts';
import type { ParentNames } from './audit-names.ts';
import { conflict, fail, isFailure, withWarnings, type Answer, type Failure } from '../api/failure.ts';
import type { WriteSource } from './write-note.ts';
import { maskRecord } from './policy-secrets-view.ts';

export interface WriteDependencies {
  readonly repository: Repository;
  /**
   * Resolves when every worker has swapped to a snapshot with the change. Called in version order, also while earlier
   * changes are still on their way.
   */
  readonly publish: (change: ConfigChange) => Promise<void>;
  /**
   * Throws or rejects when the change must not be made; the message is shown to the client, except for
   * StorageUnavailable.
   * @param missed changes of other gateways that this one has not seen yet
   */
  readonly validateChange: (change: ConfigChange, missed?: ConfigChange) => Promise<void> | void;
  /** The state that `publish` has sent to the workers; absent: no other gateway writes. */
  readonly known?: () => ConfigPosition;
  /** Waits, for a bounded time, until the gateways with this database have applied a config version. Never rejects. */
  readonly settle: (configVersion: number) => Promise<{ readonly applied: number; readonly nodes: number }>;
  readonly clock: Clock;
}

/** What the audit log stores about a write; secrets in `change` are masked. */
export interface AuditNote {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  /** The name of the record: slug, label, method and path, or name; null when there is none. */
  readonly resourceName: string | null;
  /** The names of the records above it. */
  readonly parents: ParentNames;
  readonly change: Readonly<Record<string, unknown>> | null;
}

/** The actor and the request of a write; a `Call` is one. */
export interface WriteOrigin {
  readonly actor: { readonly id: string; readonly name?: string };
  /** The client's address in canonical form. */
  readonly address: string | null;
  readonly requestId: string | null;
  /** Absent: the gateway itself writes. */
  readonly source?: WriteSource;
  readonly commit?: string | null;
  readonly message?: string | null;
}

/**
 * Called inside the transaction when everything else is done, so that a revision whose endpoints are created with it is
 * not reported as empty. Undefined or empty when there is no warning.
 */
export type FindWarnings = () => Promise<readonly Warning[]> | readonly Warning[] | undefined;

export interface Written {
  readonly answer: Answer;
  readonly touched: ChangeSet;
  readonly audit: AuditNote;
  /** Entity tag of the record before the write, for a dry run's answer. */
  readonly previousTag?: string;
  readonly warnings?: FindWarnings | undefined;
}

/** A write that found nothing to do: the transaction is rolled back and the answer given. */
export interface Unchanged {
  readonly unchanged: Answer;
  readonly warnings?: FindWarnings | undefined;
}

export type WriteWork = (writer: ConfigWriter) => Promise<Result>;

/** Follows a write that is only tried: everything happens as in a real one, up to the commit. */
export interface DryRun {
  /** Inside of the transaction, before the work. */
  begin(reader: ConfigReader): Promise<void>;
  /**
   * Creates the answer after the transaction.
   * @param real the answer without the dry run
   * @param change the change in the form that workers would receive; undefined when nothing would change
   * @param etag tag of the current record
   */
  conclude(
    real: Answer,
    change: ConfigChange | undefined,
    etag: string | undefined,
  ): Answer | Promise<Answer>;
}

/**
 * Runs one write on behalf of `origin`. Rejects when the database is unavailable, or when the committed change could
 * not be published.
 * @param dryRun rolls the write back after all checks
 */
export type WritePath = (origin: WriteOrigin, work: WriteWork, dryRun?: DryRun) => Promise<Answer | Failure>;

export const NOTHING_TOUCHED: ChangeSet = Object.freeze({ appIds: [], versionIds: [], keyIds: [] });

class ChangeRefused extends Error {}

/** Thrown instead of a commit, to roll the transaction back. */
class DryRunDone extends Error {
  readonly change: ConfigChange;
  constructor(change: ConfigChange) {
    super('the write was a dry run');
    this.change = change;
  }
}

type Result = Written | Unchanged | Failure;

/** In the answer to each write: how many of the live gateways have applied it. */
export const NODES_APPLIED_HEADER = 'Headgate-Nodes-Applied';

interface Outcome {
  readonly result: Result;
  readonly warnings: readonly Warning[];
  readonly configVersion: number;
  /** Settles when this write is published. Wrapped in an object, so that returning it does not wait. */
  readonly live: { readonly promise: Promise<void> } | undefined;
}

export function createWritePath(dependencies: WriteDependencies): WritePath {
  const { repository, publish, validateChange, known, settle, clock } = dependencies;

  async function commit(origin: WriteOrigin, work: WriteWork): Promise<Outcome> {
    let warnings: readonly Warning[] = [];
    const { value, change, configVersion } = await repository.write(
      async (writer) => {
        const result = await work(writer);
        warnings = await warningsOf(result);
        if (!('touched' in result)) return { abort: result as Result };
        await writer.appendAudit(auditEntry(origin, result.audit, clock.nowMs()));
        writer.describeVersion(descriptionOf(origin, result.audit));
        return { value: result as Result, touched: result.touched };
      },
      (change, missed) => assertCompiles(change, missed, validateChange),
      known,
    );
    if (change === undefined) return { result: value, warnings, configVersion, live: undefined };
    // Writes settle in the order of their commits, so this runs in the order of the config versions.
    // Publishing serves other writes too, and its waits cannot undo this write: it has no budget.
    const live = withBudget(undefined, () => publish(change));
    // Awaited below, after the outcome of the write is known.
    live.catch(() => undefined);
    return { result: value, warnings, configVersion, live: { promise: live } };
  }

  /** The answer, once the other gateways have applied the write. */
  async function settled(answer: Answer, configVersion: number): Promise<Answer> {
    const { applied, nodes } = await withBudget(undefined, () => settle(configVersion));
    return { ...answer, headers: { ...answer.headers, [NODES_APPLIED_HEADER]: `${applied}/${nodes}` } };
  }

  return async (origin, work, dryRun) => {
    try {
      if (dryRun !== undefined) return await runDry(dependencies, origin, work, dryRun);
      const { result, warnings, configVersion, live } = await commit(origin, work);
      if (isFailure(result)) return result;
      await live?.promise;
      return await settled(withWarnings(answerOf(result), warnings), configVersion);
    } catch (error) {
      if (error instanceof SecretKeyMissing) return fail('validation_failed', error.message);
      if (error instanceof UniqueViolation) return conflict(`/${error.field}`, 'is already taken');
      if (error instanceof ChangeRefused) return fail('validation_failed', error.message);
      throw error;
    }
  };
}

/** Never commits: a write with changes is rolled back before its commit, any other is aborted. */
async function runDry(
  { repository, validateChange, known, clock }: WriteDependencies,
  origin: WriteOrigin,
  work: WriteWork,
  dryRun: DryRun,
): Promise<Answer | Failure> {
  let written: Written | undefined;
  let warnings: readonly Warning[] = [];
  try {
    const { value } = await repository.write(
      async (writer) => {
        await dryRun.begin(writer);
        const result = await work(writer);
        warnings = await warningsOf(result);
        if (!('touched' in result) || isNothing(result.touched)) return { abort: result };
        written = result;
        await writer.appendAudit(auditEntry(origin, result.audit, clock.nowMs()));
        // The effects are reported for whole versions.
        const { endpoints: _endpoints, ...touched } = result.touched;
        return { value: result as Result, touched };
      },
      async (change, missed) => {
        await assertCompiles(change, missed, validateChange);
        throw new DryRunDone(change);
      },
      known,
    );
    if (isFailure(value)) return value;
    const real = 'unchanged' in value ? value.unchanged : value.answer;
    const tried = await dryRun.conclude(real, undefined, real.headers['ETag']);
    return withWarnings(tried, warnings);
  } catch (error) {
    if (!(error instanceof DryRunDone) || written === undefined) throw error;
    const tried = await dryRun.conclude(written.answer, error.change, written.previousTag);
    return withWarnings(tried, warnings);
  }
}

export function answerOf(result: Written | Unchanged): Answer {
  return 'unchanged' in result ? result.unchanged : result.answer;
}

async function warningsOf(result: Result): Promise<readonly Warning[]> {
  return isFailure(result) ? [] : ((await result.warnings?.()) ?? []);
}

/** Rejects with `ChangeRefused`, or `StorageUnavailable`. */
async function assertCompiles(
  change: ConfigChange,
  missed: ConfigChange | undefined,
  validateChange: WriteDependencies['validateChange'],
): Promise<void> {
  try {
    await validateChange(change, missed);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    throw new ChangeRefused(messageOf(error));
  }
}

export function auditEntry(
  { actor, address, requestId }: WriteOrigin,
  { action, resourceType, resourceId, resourceName, parents, change }: AuditNote,
  nowMs: number,
): Parameters<ConfigWriter['appendAudit']>[0] {
  return {
    id: uuidv7(nowMs),
    at: timestamp(nowMs),
    actor: actor.id,
    action,
    resource_type: resourceType,
    resource_id: resourceId,
    resource_name: resourceName,
    parents,
    address,
    request_id: requestId,
    change: change === null ? null : maskRecord(change),
  };
}

/** The description of the write in the history. */
function descriptionOf(
  { actor, address, requestId, source, commit = null, message = null }: WriteOrigin,
  { action }: AuditNote,
): WriteDescription {
  return {
    actor: actor.id,
    ...(actor.name !== undefined && { actor_name: actor.name }),
    address,
    request_id: requestId,
    source: source ?? 'system',
    git_commit: commit,
    action,
    message,
  };
}

function isNothing({ appIds, versionIds, keyIds }: ChangeSet): boolean {
  return appIds.length + versionIds.length + keyIds.length === 0;
}

/** Time of an update: now, but later than the last update, so every change has its own ETag. */
export function nextUpdatedAt(previous: string, nowMs: number): string {
  return timestamp(Math.max(nowMs, Date.parse(previous) + 1));
}
