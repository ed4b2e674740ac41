/**
 * A large change on its way to the workers, in parts: serialised once for all of them, in shared memory, so that a
 * worker reads one part after the other (slices.ts). A message would be read as a whole, by each worker in one turn
 * of its event loop. A part has some hundred records, in the order of the trees.
 */
import { deserialize, serialize } from 'node:v8';
import type { Steps } from '../../config/changes/slices.ts';
import type { AppTree, ConfigChange, EndpointChange, VersionTree } from '../../model/config.ts';
import type { App, Endpoint, Revision, Version } from '../../model/resources.ts';

export type ChangeParts = readonly SharedArrayBuffer[];

/** Records in a part: a worker reads it in about a millisecond. */
const RECORDS_MAX = 200;

type Rest = Omit<ConfigChange, 'apps' | 'versions' | 'endpoints'>;

/** A record belongs to the last one above it. The versions before the first app belong to apps that stay. */
type Item =
  | { readonly rest: Rest }
  | { readonly app: App }
  | { readonly version: Version }
  | { readonly revision: Revision }
  | { readonly endpoint: Endpoint }
  /** The changes of single endpoints of one revision, which share its record. */
  | { readonly changed: readonly EndpointChange[] };

/** More records take a worker more than some milliseconds. */
const AT_ONCE_RECORDS_MAX = 100;

/** Whether workers prepare the change before they apply it. */
export function isLarge(change: ConfigChange): boolean {
  return recordsOf(change) > AT_ONCE_RECORDS_MAX;
}

/** The number of records to compile. */
export function recordsOf({ apps, versions, endpoints = [] }: ConfigChange): number {
  let count = apps.length + endpoints.length;
  for (const tree of [...apps.flatMap((app) => app.versions), ...versions]) {
    count += 1;
    for (const revision of tree.revisions) count += 1 + revision.endpoints.length;
  }
  return count;
}

/** @returns the change without its keys, which workers read elsewhere */
export function* packChange(change: ConfigChange): Steps<ChangeParts> {
  const parts: SharedArrayBuffer[] = [];
  let items: Item[] = [];
  for (const item of itemsOf(change)) {
    items.push(item);
    if (items.length < RECORDS_MAX) continue;
    parts.push(packed(items));
    items = [];
    yield;
  }
  if (items.length > 0) parts.push(packed(items));
  return parts;
}

export function* unpackChange(parts: ChangeParts): Steps<ConfigChange> {
  const change = { versions: [] as VersionTree[], apps: [] as AppTree[], endpoints: [] as EndpointChange[] };
  let rest: Rest | undefined;
  let { versions } = change;
  let revisions: { revision: Revision; endpoints: Endpoint[] }[] = [];
  for (const part of parts) {
    for (const item of deserialize(new Uint8Array(part)) as Item[]) {
      if ('endpoint' in item) revisions.at(-1)?.endpoints.push(item.endpoint);
      else if ('revision' in item) revisions.push({ revision: item.revision, endpoints: [] });
      else if ('version' in item) versions.push({ version: item.version, revisions: (revisions = []) });
      else if ('app' in item) change.apps.push({ app: item.app, versions: (versions = []) });
      else if ('changed' in item) change.endpoints.push(...item.changed);
      else rest = item.rest;
    }
    yield;
  }
  if (rest === undefined) throw new Error('Cannot read a change: it has no first part');
  return { ...rest, ...change };
}

function* itemsOf({ apps, versions, endpoints = [], ...rest }: ConfigChange): Generator<Item> {
  yield { rest: { ...rest, keys: [], removedKeyIds: [] } };
  for (const changed of Map.groupBy(endpoints, ({ revision }) => revision).values()) yield { changed };
  for (const version of versions) yield* itemsOfVersion(version);
  for (const { app, versions: own } of apps) {
    yield { app };
    for (const version of own) yield* itemsOfVersion(version);
  }
}

function* itemsOfVersion({ version, revisions }: VersionTree): Generator<Item> {
  yield { version };
  for (const { revision, endpoints } of revisions) {
    yield { revision };
    for (const endpoint of endpoints) yield { endpoint };
  }
}

function packed(items: readonly Item[]): SharedArrayBuffer {
  const bytes = serialize(items);
  const shared = new SharedArrayBuffer(bytes.length);
  new Uint8Array(shared).set(bytes);
  return shared;
}
