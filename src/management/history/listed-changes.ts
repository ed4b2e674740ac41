/** Changes between states in the form of plans, applies and audit entries: labels, items before and after. */
import { isDeepStrictEqual } from 'node:util';
import type { AppState } from '../../model/history/config-history.ts';
import { DeclaredChanges, type DeclaredChange } from '../declaration/declared-changes.ts';
import { LEVELS, type Item } from '../declaration/levels.ts';
import { KEYS_NAMED_MAX } from '../write/audit-names.ts';
import { subjectOf, type PlacedRecord, type StateChange } from './state-changes.ts';

/** @param before the state that the changes start from @returns the list, and what the workers must load */
export function listedChanges(changes: readonly StateChange[], before: readonly AppState[]): DeclaredChanges {
  const log = new DeclaredChanges();
  for (const change of changes) {
    const { type, record, place } = subjectOf(change);
    const isDeletedApp = type === 'app' && change.after === undefined;
    const keys = isDeletedApp ? keysOf(record.id, before) : [];
    log.touchKeys(keys.map(({ id }) => id));
    const named = keys.slice(0, KEYS_NAMED_MAX).map(({ id, name }) => ({ id, name }));
    const listed = { ...declaredChange(change), ...(isDeletedApp && { keys: named }) };
    // For example the path of a version that follows its app.
    if (listed.change === 'update' && isDeepStrictEqual(listed.before, listed.after))
      log.touch(type, record.id, place);
    else log.add(listed, place);
  }
  return log;
}

function keysOf(appId: string, states: readonly AppState[]): AppState['keys'] {
  return states.find(({ tree }) => tree.app.id === appId)?.keys ?? [];
}

function declaredChange(change: StateChange): DeclaredChange {
  const { before, after, below } = change;
  const { type, path, record } = subjectOf(change);
  const kind = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
  const item = kind === 'update' ? itemWithNames : itemOf;
  return {
    change: kind,
    type,
    path,
    before: before && item(before),
    after: after && item(after),
    record,
    below,
  };
}

function itemOf({ type, record, path }: PlacedRecord): Item {
  return LEVELS[type].itemOf(record, path.at(-1) ?? '');
}

/** Also includes the names that identify the record: a change of them is a change. */
function itemWithNames(placed: PlacedRecord): Item {
  return { ...itemOf(placed), ...namesOf(placed) };
}

function namesOf({ type, record }: PlacedRecord): Item {
  switch (type) {
    case 'app':
      return { slug: record.slug };
    case 'version':
      return { version: record.version };
    case 'revision':
      return { revision: record.revision };
    case 'endpoint':
      return { method: record.method, path: record.path };
    case 'key':
      return { name: record.name, token_prefix: record.token_prefix };
  }
}
