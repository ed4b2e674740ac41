/**
 * The content of a snapshot file: the configuration as parts of about 256 KiB, each made and applied on its own, and
 * further parts for the changes since. Records are lines of JSON with sealed secrets. API keys are packed as in memory;
 * single changed keys are lines of JSON.
 *
 * The state may change between one part and the next. Every record that changes meanwhile is written again afterwards,
 * and a reader keeps the last form of each record.
 */
import type { ConfigChange, VersionTree } from '../../model/config.ts';
import type { App, StoredApiKey } from '../../model/resources.ts';
import { sealApp, sealVersionTree } from '../../storage/secrets/sealed-config.ts';
import type { Sealing } from '../../storage/sql/policy-secrets.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { Frame } from './snapshot-log.ts';

/** Least size of a part, except the last one of each kind. */
const PART_BYTES = 256 * 1024;

/** A record replaces the record with the same id. The versions of an app follow it on lines of their own. */
type Line =
  | { readonly app: App }
  | { readonly version: VersionTree }
  | { readonly key: StoredApiKey }
  | { readonly removed: { readonly apps: string[]; readonly versions: string[]; readonly keys: string[] } };

/** Ids of records that have, or may have, changed. */
export class ChangedIds {
  readonly apps = new Set<string>();
  readonly versions = new Set<string>();
  readonly keys = new Set<string>();

  add(change: ConfigChange): void {
    const { apps, removedAppIds, versions, removedVersionIds, keys, removedKeyIds } = change;
    for (const { app } of apps) this.apps.add(app.id);
    for (const id of removedAppIds) this.apps.add(id);
    for (const { version } of versions) this.versions.add(version.id);
    for (const id of removedVersionIds) this.versions.add(id);
    for (const { versionId } of change.endpoints ?? []) this.versions.add(versionId);
    for (const { id } of keys) this.keys.add(id);
    for (const id of removedKeyIds) this.keys.add(id);
  }

  addAll(other: ChangedIds): void {
    for (const id of other.apps) this.apps.add(id);
    for (const id of other.versions) this.versions.add(id);
    for (const id of other.keys) this.keys.add(id);
  }

  get size(): number {
    return this.apps.size + this.versions.size + this.keys.size;
  }
}

/** @param partBytes for tests */
export function* allParts(
  state: ConfigState,
  sealing: Sealing,
  partBytes: number = PART_BYTES,
): Generator<Frame> {
  for (const payload of state.keys.packed(partBytes)) yield { kind: 'KEYS', payload };
  yield* asParts(allLines(state, sealing), partBytes);
}

function* allLines(state: ConfigState, sealing: Sealing): Generator<Line> {
  for (const appId of state.appIds()) yield* linesOfApp(state, appId, sealing);
}

/** The changed records in their present form. */
export function changedParts(state: ConfigState, sealing: Sealing, ids: ChangedIds): Generator<Frame> {
  return asParts(changedLines(state, sealing, ids), PART_BYTES);
}

function* changedLines(state: ConfigState, sealing: Sealing, ids: ChangedIds): Generator<Line> {
  yield {
    removed: {
      apps: [...ids.apps].filter((id) => state.appOf(id) === undefined),
      versions: [...ids.versions].filter((id) => state.versionTree(id) === undefined),
      keys: [...ids.keys].filter((id) => state.keys.findKeyById(id) === undefined),
    },
  };
  for (const id of ids.apps) yield* linesOfApp(state, id, sealing);
  for (const id of ids.versions) {
    const tree = state.versionTree(id);
    // The versions of a changed app were written with it.
    if (tree !== undefined && !ids.apps.has(tree.version.app_id))
      yield { version: sealVersionTree(tree, sealing) };
  }
  for (const id of ids.keys) {
    const key = state.keys.findKeyById(id);
    if (key !== undefined) yield { key };
  }
}

function* linesOfApp(state: ConfigState, appId: string, sealing: Sealing): Generator<Line> {
  const app = state.appOf(appId);
  if (app === undefined) return;
  yield { app: sealApp(app, sealing) };
  for (const id of state.versionIdsOf(appId)) {
    const tree = state.versionTree(id);
    if (tree !== undefined) yield { version: sealVersionTree(tree, sealing) };
  }
}

function* asParts(lines: Iterable<Line>, partBytes: number): Generator<Frame> {
  let texts: string[] = [];
  let characters = 0;
  const take = (): Frame => {
    const payload = Buffer.from(texts.join(''), 'utf8');
    texts = [];
    characters = 0;
    return { kind: 'JSON', payload };
  };
  for (const line of lines) {
    const text = `${JSON.stringify(line)}\n`;
    texts.push(text);
    characters += text.length;
    if (characters >= partBytes) yield take();
  }
  if (characters > 0) yield take();
}

/** Applies a part to a state; secrets stay sealed. Throws for an invalid part, or when its keys do not fit. */
export function applyPart(state: ConfigState, { kind, payload }: Frame, configVersion: number): void {
  if (kind === 'KEYS') return state.keys.addPacked(payload);
  for (const text of payload.toString('utf8').split('\n')) {
    if (text !== '') state.apply(changeOf(JSON.parse(text) as Line, configVersion));
  }
}

function changeOf(line: Line, configVersion: number): ConfigChange {
  const removed = 'removed' in line ? line.removed : undefined;
  return {
    configVersion,
    reset: false,
    // A file that an earlier program has written has no hosts.
    apps: 'app' in line ? [{ app: { ...line.app, hosts: line.app.hosts ?? [] }, versions: [] }] : [],
    removedAppIds: removed?.apps ?? [],
    versions: 'version' in line ? [line.version] : [],
    removedVersionIds: removed?.versions ?? [],
    keys: 'key' in line ? [line.key] : [],
    removedKeyIds: removed?.keys ?? [],
  };
}
