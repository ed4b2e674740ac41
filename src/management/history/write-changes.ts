/**
 * Writes the changes between two states, by the identity of records and by the rules of their resources. Deletions come
 * first; then every record that loses a unique name is moved out of the way, so that records can swap or take over
 * names and paths; then everything gets its new state, from the top down.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../lib/is-object.ts';
import type { Revision, StoredApiKey, Version } from '../../model/resources.ts';
import type { App, Endpoint } from '../../model/resources.ts';
import type { ConfigWriter } from '../../storage/repository.ts';
import { fail, failureAt, isFailure, type Failure } from '../api/failure.ts';
import { validate } from '../api/validate.ts';
import type { Resource, StoredRecord } from '../crud/resource.ts';
import { pointerOf } from '../declaration/tree.ts';
import { apps } from '../routes/resources/apps.ts';
import { endpoints } from '../routes/resources/endpoints.ts';
import { revisions } from '../routes/resources/revisions.ts';
import { tokens } from '../routes/resources/tokens.ts';
import { versions } from '../routes/resources/versions.ts';
import type { RuleContext } from '../write/rule-context.ts';
import { nextUpdatedAt } from '../write/write.ts';
import type { PlacedRecord, RecordType, StateChange } from './state-changes.ts';

/** @returns a failure with pointers into the target state; the caller then rolls back */
export async function writeChanges(
  writer: ConfigWriter,
  rules: RuleContext,
  changes: readonly StateChange[],
): Promise<Failure | undefined> {
  for (const { before, after } of changes) {
    if (before !== undefined && after === undefined) await remove(writer, before.type, before.record.id);
  }
  // From the bottom up: the history stores the current names of the records above.
  for (const { before, after } of changes.toReversed()) {
    const aside = before && after && movedAside(before, after);
    if (aside !== undefined) await update(writer, aside);
  }
  const named: Version[] = [];
  for (const { before, after } of changes) {
    if (after === undefined) continue;
    const refused = await refusal(rules, after, before);
    if (refused !== undefined) return failureAt(pointerOf(after), refused);
    const record = stamped(after.record, before?.record, rules.clock.nowMs());
    const write = { ...after, record: withoutSuccessor(after.type, record) } as PlacedRecord;
    await (before === undefined ? insert(writer, write) : update(writer, write));
    if (write.record !== record) named.push(record as Version);
  }
  // All of them must exist before one can name another.
  for (const version of named) await writer.updateVersion(version);
  return undefined;
}

function stamped<R extends StoredRecord>(record: R, previous: StoredRecord | undefined, nowMs: number): R {
  const last = previous === undefined || previous.updated_at < record.updated_at ? record : previous;
  return { ...record, updated_at: nextUpdatedAt(last.updated_at, nowMs) };
}

function withoutSuccessor<R extends StoredRecord>(type: RecordType, record: R): R {
  return type === 'version' && (record as unknown as Version).successor !== null
    ? { ...record, successor: null }
    : record;
}

/**
 * The present record with names that no other record has, if they change; undefined if it keeps them. An id is
 * not a path, and by the rules of the API not a label either.
 */
function movedAside(before: PlacedRecord, after: PlacedRecord): PlacedRecord | undefined {
  const { id } = before.record;
  const names = (UNIQUE[before.type] as readonly string[]).filter(
    (name) => !isDeepStrictEqual(Reflect.get(before.record, name), Reflect.get(after.record, name)),
  );
  if (names.length === 0) return undefined;
  // There are few methods; the path alone is sufficient.
  const free = before.type === 'endpoint' ? ['path'] : names;
  const moved = Object.fromEntries(free.map((name) => [name, name === 'hosts' ? [id] : id]));
  return { ...before, record: { ...before.record, ...moved } } as PlacedRecord;
}

/** Names that must be unique in the database, globally or within the parent. */
const UNIQUE = {
  app: ['slug', 'gateway_path', 'hosts'],
  version: ['version', 'gateway_path'],
  revision: ['revision'],
  endpoint: ['method', 'path'],
  key: [],
} as const satisfies Readonly<Record<RecordType, readonly string[]>>;

async function insert(writer: ConfigWriter, { type, record }: PlacedRecord): Promise<void> {
  switch (type) {
    case 'app':
      return writer.insertApp(record);
    case 'version':
      return writer.insertVersion(record);
    case 'revision':
      return writer.insertRevision(record);
    case 'endpoint':
      return writer.insertEndpoint(record);
    case 'key':
      throw new Error('A key is never brought back');
  }
}

async function update(writer: ConfigWriter, { type, record }: PlacedRecord): Promise<void> {
  switch (type) {
    case 'app':
      return writer.updateApp(record);
    case 'version':
      return writer.updateVersion(record);
    case 'revision':
      return writer.updateRevision(record);
    case 'endpoint':
      return writer.updateEndpoint(record);
    case 'key':
      return writer.updateKey(record);
  }
}

async function remove(writer: ConfigWriter, type: RecordType, id: string): Promise<boolean> {
  switch (type) {
    case 'app':
      return writer.deleteApp(id);
    case 'version':
      return writer.deleteVersion(id);
    case 'revision':
      return writer.deleteRevision(id);
    case 'endpoint':
      return writer.deleteEndpoint(id);
    case 'key':
      return writer.deleteKey(id);
  }
}

/** Why the current rules of the resource do not allow the record, with pointers that begin at it. */
async function refusal(
  rules: RuleContext,
  after: PlacedRecord,
  before: PlacedRecord | undefined,
): Promise<Failure | undefined> {
  const { scope } = after;
  switch (after.type) {
    case 'app':
      return refusedBy(apps, rules, scope as never, after.record, before?.record as App | undefined);
    case 'version': {
      // Its current label does not matter: everything that refers to it changes with it.
      const previous = before && { ...(before.record as Version), version: after.record.version };
      return refusedBy(versions, rules, scope as never, { ...after.record, successor: null }, previous);
    }
    case 'revision':
      return refusedBy(
        revisions,
        rules,
        scope as never,
        after.record,
        before?.record as Revision | undefined,
      );
    case 'endpoint':
      return refusedBy(
        endpoints,
        rules,
        scope as never,
        after.record,
        before?.record as Endpoint | undefined,
      );
    case 'key':
      return refusedBy(
        tokens,
        rules,
        scope as never,
        after.record,
        before?.record as StoredApiKey | undefined,
      );
  }
}

async function refusedBy<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  rules: RuleContext,
  scope: S,
  record: R,
  previous: R | undefined,
): Promise<Failure | undefined> {
  const writable = Object.entries(resource.writable(record)).filter(([, value]) => value !== null);
  const input = Object.fromEntries(writable) as I;
  const errors = validate(resource.inputSchema, input);
  if (errors.length > 0) return fail('validation_failed', '', errors);
  const { id, created_at, updated_at } = record;
  const built = await resource.build(input, { id, created_at, updated_at }, previous, scope, rules);
  return isObject(built) && isFailure(built) ? built : undefined;
}
