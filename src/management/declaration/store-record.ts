/** Changes one record to its item, by the rules of its resource, and records the change. */
import { isDeepStrictEqual } from 'node:util';
import type { StoredApiKey } from '../../model/resources.ts';
import type { ConfigWriter } from '../../storage/repository.ts';
import { failureAt, invalid, isFailure, type Failure } from '../api/failure.ts';
import type { RuleContext } from '../write/rule-context.ts';
import type { StoredRecord } from '../crud/resource.ts';
import { blindSecrets } from './blind-secrets.ts';
import type { DeclaredChanges, RecordPlace } from './declared-changes.ts';
import type { DeclaredApp, IdOf } from './declared-app.ts';
import type { Item, Level } from './levels.ts';
import { openHandles } from './secret-handles.ts';

export interface Apply {
  readonly writer: ConfigWriter;
  readonly rules: RuleContext;
  readonly log: DeclaredChanges;
  /** undefined: a new record gets a random id. */
  readonly idOf: IdOf | undefined;
  /** See `blindSecrets`. */
  readonly isBlind: boolean;
}

/** One record and the item that declares it. */
export interface DeclaredRecord {
  readonly app: DeclaredApp;
  readonly level: Level;
  readonly scope: object;
  readonly path: readonly string[];
  readonly pointer: string;
  readonly item: Item;
  readonly previous: StoredRecord | undefined;
  readonly place: RecordPlace;
}

/** @returns the record in its new state */
export async function store(
  { writer, rules, log, idOf, isBlind }: Apply,
  declared: DeclaredRecord,
): Promise<StoredRecord | Failure> {
  const { level, path, pointer, scope, place } = declared;
  const label = path.at(-1) ?? '';
  const item = ownFields(declared.item, level);
  const previous = declared.previous && isBlind ? blindSecrets(declared.previous, item) : declared.previous;
  const before = previous && level.itemOf(previous, label);
  const opened = openHandles(item, declared.app.slug, declared.app.stored);
  if (Array.isArray(opened))
    return invalid(opened.map((error) => ({ ...error, pointer: pointer + error.pointer })));
  if (previous !== undefined && isDeepStrictEqual(opened, before)) return previous;
  const stored = await level.store(
    writer,
    rules,
    scope,
    label,
    opened as Item,
    previous,
    idOf?.(level.name, path),
  );
  if (isFailure(stored)) return failureAt(pointer, stored);
  const { record, change, token } = stored;
  if (change === undefined) return record;
  const after = level.itemOf(record, label);
  const value = changedValue(previous, record);
  log.add(
    {
      change,
      type: level.name,
      path,
      before: before && { ...before, ...value?.before },
      after: { ...after, ...value?.after },
      record,
      below: 0,
    },
    place,
  );
  if (token !== undefined) log.created.push({ app: declared.app.slug, name: label, id: record.id, token });
  return record;
}

/** The values of a key before and after a change: only as much as its record shows. */
function changedValue(
  before: StoredRecord | undefined,
  after: StoredRecord,
): { readonly before: Item; readonly after: Item } | undefined {
  const [old, now] = [before as Partial<StoredApiKey> | undefined, after as Partial<StoredApiKey>];
  if (old === undefined || old.token_hash === now.token_hash) return undefined;
  return { before: { token_prefix: old.token_prefix }, after: { token_prefix: now.token_prefix } };
}

/** An item without the collections below it. */
function ownFields(item: Item, level: Level): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !level.below.includes(name)));
}
