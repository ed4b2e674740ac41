/** The deletions of an apply: records that the tree does not contain although it declares the record above them. */
import type { VersionTree } from '../../model/config.ts';
import type { App } from '../../model/resources.ts';
import type { ConfigWriter } from '../../storage/repository.ts';
import type { StoredRecord } from '../crud/resource.ts';
import { cascadedKeys, type CascadedKey } from '../write/audit-names.ts';
import type { DeclaredChanges, RecordPlace } from './declared-changes.ts';
import { member, type DeclaredApp } from './declared-app.ts';
import { LEVELS, type Item, type Level } from './levels.ts';

type Delete = (
  level: Level,
  record: StoredRecord,
  path: readonly string[],
  place: RecordPlace,
  below?: number,
  keys?: readonly CascadedKey[],
) => Promise<void>;

function deletion(writer: ConfigWriter, log: DeclaredChanges): Delete {
  return async (level, record, path, place, below = 0, keys = []) => {
    const before = level.itemOf(record, path.at(-1) ?? '');
    log.add(
      { change: 'delete', type: level.name, path, before, after: undefined, record, below, keys },
      place,
    );
    await level.remove(writer, record);
  };
}

/** @param isOurs whether an undeclared app is deleted */
export async function deleteApps(
  writer: ConfigWriter,
  log: DeclaredChanges,
  known: ReadonlyMap<string, App>,
  declared: object,
  isOurs: (app: App) => boolean,
): Promise<void> {
  const remove = deletion(writer, log);
  for (const [slug, app] of known) {
    if (Object.hasOwn(declared, slug) || !isOurs(app)) continue;
    const tree = await writer.loadAppTree(app.id);
    const keyIds = await writer.keyIdsOfApp(app.id);
    log.touchKeys(keyIds);
    const versions = tree?.versions ?? [];
    const below = versions.reduce((sum, version) => sum + 1 + sizeOf(version), keyIds.length);
    await remove(LEVELS.app, app, [slug], {}, below, await cascadedKeys(writer, app.id));
  }
}

/** Deletes undeclared records below a declared app. */
export async function deleteBelow(
  writer: ConfigWriter,
  log: DeclaredChanges,
  app: DeclaredApp,
): Promise<void> {
  const remove = deletion(writer, log);
  for (const tree of app.stored?.versions ?? []) {
    const { version } = tree;
    const declared = member(app.item, 'versions', version.version);
    const path = [app.slug, version.version];
    if (declared === undefined) await remove(LEVELS.version, version, path, {}, sizeOf(tree));
    else await deleteBelowVersion(remove, tree, declared, path);
  }
  for (const key of app.keys.undeclared) await remove(LEVELS.key, key, [app.slug, key.name], {});
}

async function deleteBelowVersion(
  remove: Delete,
  { version, revisions }: VersionTree,
  declared: Item,
  path: readonly string[],
): Promise<void> {
  for (const { revision, endpoints } of revisions) {
    const item = member(declared, 'revisions', revision.revision);
    const revisionPath = [...path, revision.revision];
    const place = { versionId: version.id, revisionId: revision.id };
    if (item === undefined) {
      await remove(LEVELS.revision, revision, revisionPath, place, endpoints.length);
      continue;
    }
    for (const endpoint of endpoints) {
      const label = LEVELS.endpoint.labelOf(endpoint);
      if (member(item, 'endpoints', label) === undefined) {
        await remove(LEVELS.endpoint, endpoint, [...revisionPath, label], place);
      }
    }
  }
}

/** The number of records below a version. */
function sizeOf({ revisions }: VersionTree): number {
  return revisions.reduce((sum, { endpoints }) => sum + 1 + endpoints.length, 0);
}
