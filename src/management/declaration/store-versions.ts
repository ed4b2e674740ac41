/** The versions of a declared app, with their revisions and endpoints. */
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { RevisionTree, VersionTree } from '../../model/config.ts';
import type { App, Revision, Version } from '../../model/resources.ts';
import { isFailure, type Failure } from '../api/failure.ts';
import { membersOf, type DeclaredApp } from './declared-app.ts';
import { LEVELS, type Item } from './levels.ts';
import { store, type Apply } from './store-record.ts';

interface VersionScope {
  readonly app: App;
  readonly version: Version;
}

export async function storeVersions(
  apply: Apply,
  app: DeclaredApp,
  scope: { readonly app: App },
): Promise<Failure | undefined> {
  const declared = membersOf(app.item, 'versions');
  const records = new Map<string, Version>();
  for (const { version } of app.stored?.versions ?? []) records.set(version.version, version);
  const trees = new Map(app.stored?.versions.map((tree) => [tree.version.id, tree]));
  const storeOne = async (label: string, item: Item): Promise<Failure | undefined> => {
    const record = await store(apply, {
      app,
      level: LEVELS.version,
      scope,
      path: [app.slug, label],
      pointer: `${app.pointer}/versions/${escapeToken(label)}`,
      item,
      previous: records.get(label),
      place: { appId: scope.app.id },
    });
    if (isFailure(record)) return record;
    records.set(label, record as Version);
    return undefined;
  };
  // All versions must exist before one can name another as its successor.
  for (const [label, { successor: _successor, ...item }] of declared) {
    const failure = records.has(label) ? undefined : await storeOne(label, item);
    if (failure !== undefined) return failure;
  }
  for (const [label, item] of declared) {
    const failure = await storeOne(label, item);
    if (failure !== undefined) return failure;
    const version = records.get(label);
    if (version === undefined) continue;
    const refused = await storeRevisions(apply, app, { ...scope, version }, item, trees.get(version.id));
    if (refused !== undefined) return refused;
  }
  return undefined;
}

async function storeRevisions(
  apply: Apply,
  app: DeclaredApp,
  scope: VersionScope,
  versionItem: Item,
  stored: VersionTree | undefined,
): Promise<Failure | undefined> {
  const { version } = scope;
  const trees = new Map(stored?.revisions.map((tree) => [tree.revision.revision, tree]));
  for (const [label, item] of membersOf(versionItem, 'revisions')) {
    const tree = trees.get(label);
    const record = await store(apply, {
      app,
      level: LEVELS.revision,
      scope,
      path: [app.slug, version.version, label],
      pointer: `${app.pointer}/versions/${escapeToken(version.version)}/revisions/${escapeToken(label)}`,
      item,
      previous: tree?.revision,
      place: { versionId: version.id },
    });
    if (isFailure(record)) return record;
    const refused = await storeEndpoints(apply, app, { ...scope, revision: record as Revision }, item, tree);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

async function storeEndpoints(
  apply: Apply,
  app: DeclaredApp,
  scope: VersionScope & { readonly revision: Revision },
  revisionItem: Item,
  stored: RevisionTree | undefined,
): Promise<Failure | undefined> {
  const { version, revision } = scope;
  const known = new Map(stored?.endpoints.map((endpoint) => [LEVELS.endpoint.labelOf(endpoint), endpoint]));
  const path = [app.slug, version.version, revision.revision];
  const pointer = `${app.pointer}/versions/${escapeToken(version.version)}/revisions/${escapeToken(revision.revision)}/endpoints`;
  const place = { versionId: version.id, revisionId: revision.id };
  for (const [label, item] of membersOf(revisionItem, 'endpoints')) {
    const record = await store(apply, {
      app,
      level: LEVELS.endpoint,
      scope,
      path: [...path, label],
      pointer: `${pointer}/${escapeToken(label)}`,
      item,
      previous: known.get(label),
      place,
    });
    if (isFailure(record)) return record;
  }
  return undefined;
}
