/**
 * The differences between two states of the configuration, by the identity of records: a renamed app is one change,
 * not a deletion and a creation. Times of changes and uses of keys do not count. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AppState } from '../../model/history/config-history.ts';
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../../model/resources.ts';
import type { RecordPlace } from '../declaration/declared-changes.ts';
import { endpointLabel } from '../declaration/levels.ts';

interface Records {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
  readonly endpoint: Endpoint;
  readonly key: StoredApiKey;
}

export type RecordType = keyof Records;

/** One record of a state, with its place. */
export type PlacedRecord = {
  readonly [Type in RecordType]: {
    readonly type: Type;
    readonly record: Records[Type];
    /** Labels from the app down. */
    readonly path: readonly string[];
    readonly place: RecordPlace;
    /** The records above it, in the form that its resource needs. */
    readonly scope: object;
    /** Undefined for an app. */
    readonly parentId: string | undefined;
  };
}[RecordType];

/** One record that differs; at least one of `before` and `after` exists, and both have the same type. */
export interface StateChange {
  readonly before: PlacedRecord | undefined;
  readonly after: PlacedRecord | undefined;
  /** Records below that are deleted with it and are not separate changes. */
  readonly below: number;
}

/** Deletions first, then creations and updates from the top down. */
export function changesBetween(before: readonly AppState[], after: readonly AppState[]): StateChange[] {
  const old = placedById(before);
  const fresh = placedById(after);
  const changes = deletions(old, fresh);
  for (const [id, placed] of fresh) {
    const previous = old.get(id);
    if (previous !== undefined && isSame(previous, placed)) continue;
    changes.push({ before: previous, after: placed, below: 0 });
  }
  return changes;
}

/** The type, place and path of the record of a change: its state afterwards, or before if it was deleted. */
export function subjectOf({ before, after }: StateChange): PlacedRecord {
  const subject = after ?? before;
  if (subject === undefined) throw new Error('A change has a record before or after it');
  return subject;
}

type Placed = ReadonlyMap<string, PlacedRecord>;

/** Parents come before children. */
function placedById(states: readonly AppState[]): Placed {
  const all = new Map<string, PlacedRecord>();
  const add = (placed: PlacedRecord): void => void all.set(placed.record.id, placed);
  for (const { tree, keys } of states) {
    const { app } = tree;
    add({ type: 'app', record: app, path: [app.slug], place: {}, scope: {}, parentId: undefined });
    const inApp = { place: { appId: app.id }, scope: { app }, parentId: app.id };
    for (const { version, revisions } of tree.versions) {
      const path = [app.slug, version.version];
      add({ type: 'version', record: version, path, ...inApp });
      const inVersion = {
        place: { appId: app.id, versionId: version.id },
        scope: { app, version },
        parentId: version.id,
      };
      for (const { revision, endpoints } of revisions) {
        const below = [...path, revision.revision];
        add({ type: 'revision', record: revision, path: below, ...inVersion });
        const inRevision = {
          place: { ...inVersion.place, revisionId: revision.id },
          scope: { app, version, revision },
          parentId: revision.id,
        };
        for (const record of endpoints) {
          add({ type: 'endpoint', record, path: [...below, endpointLabel(record)], ...inRevision });
        }
      }
    }
    for (const record of keys) add({ type: 'key', record, path: [app.slug, record.name], ...inApp });
  }
  return all;
}

function deletions(old: Placed, fresh: Placed): StateChange[] {
  /** By the id of the topmost deleted record. */
  const below = new Map<string, number>();
  const topOf = (placed: PlacedRecord): PlacedRecord => {
    let top = placed;
    for (let id = placed.parentId; id !== undefined && !fresh.has(id); id = top.parentId) {
      const parent = old.get(id);
      if (parent === undefined) break;
      top = parent;
    }
    return top;
  };
  for (const [id, placed] of old) {
    if (fresh.has(id)) continue;
    const top = topOf(placed).record.id;
    below.set(top, (below.get(top) ?? -1) + 1);
  }
  return [...below].map(([id, count]) => ({ before: old.get(id), after: undefined, below: count }));
}

function isSame(a: PlacedRecord, b: PlacedRecord): boolean {
  return a.record === b.record || isDeepStrictEqual(lasting(a), lasting(b));
}

/** The part of a record that is configuration. */
function lasting({ record }: PlacedRecord): object {
  const { updated_at: _updatedAt, ...rest } = record;
  if (!('last_used_at' in rest)) return rest;
  const { last_used_at: _lastUsedAt, ...key } = rest;
  return key;
}
