/** Brings one record to what its item says, by the rules of its resource, and writes down what has changed. */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWriter } from '../../storage/repository.ts';
import { invalid, isFailure, type Failure } from '../api/failure.ts';
import type { RuleContext } from '../write/rule-context.ts';
import type { StoredRecord } from '../crud/resource.ts';
import type { DeclaredChanges, RecordPlace } from './declared-changes.ts';
import type { DeclaredApp } from './declared-app.ts';
import type { Item, Level } from './levels.ts';
import { openHandles } from './secret-handles.ts';

export interface Apply {
  readonly writer: ConfigWriter;
  readonly rules: RuleContext;
  readonly log: DeclaredChanges;
}

/** One record to be brought to what its item says. */
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

/** @returns the record as it is stored then */
export async function store(
  { writer, rules, log }: Apply,
  declared: DeclaredRecord,
): Promise<StoredRecord | Failure> {
  const { level, path, pointer, previous, scope, place } = declared;
  const label = path.at(-1) ?? '';
  const item = ownFields(declared.item, level);
  const before = previous && level.itemOf(previous, label);
  const opened = openHandles(item, declared.app.slug, declared.app.stored);
  if (Array.isArray(opened))
    return invalid(opened.map((error) => ({ ...error, pointer: pointer + error.pointer })));
  if (previous !== undefined && isDeepStrictEqual(opened, before)) return previous;
  const stored = await level.store(writer, rules, scope, label, opened as Item, previous);
  if (isFailure(stored)) return placed(stored, pointer);
  const { record, change, token } = stored;
  if (change === undefined) return record;
  log.add(
    { change, type: level.name, path, before, after: level.itemOf(record, label), record, below: 0 },
    place,
  );
  if (token !== undefined) log.created.push({ app: declared.app.slug, name: label, id: record.id, token });
  return record;
}

/** An item without the collections below it. */
function ownFields(item: Item, level: Level): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !level.below.includes(name)));
}

/** The failure of a resource, with pointers into the tree. */
function placed(failure: Failure, pointer: string): Failure {
  const errors = (failure.errors ?? [{ pointer: '', detail: failure.detail }]).map((error) => ({
    pointer: pointer + error.pointer,
    detail: error.detail,
  }));
  return { ...invalid(errors), failure: failure.failure };
}
