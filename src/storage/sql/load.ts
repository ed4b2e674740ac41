/**
 * Loads the content of the snapshot: trees of apps and versions, keys, and the `ConfigChange` of a write. The number
 * of queries does not depend on the size of the data. The whole configuration is read in batches, so that the thread
 * can handle other work between them.
 */
import type { Kysely } from 'kysely';
import type {
  AppTree,
  ConfigChange,
  ConfigPosition,
  EndpointChange,
  ChangeSet,
  TouchedEndpoint,
  VersionTree,
} from '../../model/config.ts';
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../../model/resources.ts';
import type { Codecs } from './rows.ts';
import type { Tables } from './kysely-tables.ts';

/** Ids in one query; databases limit the number of parameters (SQLite: 32,766). */
const IDS_PER_QUERY_MAX = 500;
/** Rows per batch when everything is loaded: about 20 ms. */
const BATCH_ROWS = 2_000;

/** The trees of the existing apps among the ids, ordered by id. */
export async function loadAppTrees(
  db: Kysely<Tables>,
  codecs: Codecs,
  appIds: readonly string[],
): Promise<AppTree[]> {
  const trees: AppTree[] = [];
  for (const ids of chunks(appIds)) {
    const apps = await db.selectFrom('app').selectAll().where('id', 'in', ids).orderBy('id').execute();
    const versions = await db
      .selectFrom('version')
      .selectAll()
      .where('app_id', 'in', ids)
      .orderBy('id')
      .execute();
    const revisions = await db
      .selectFrom('revision')
      .innerJoin('version', 'version.id', 'revision.version_id')
      .selectAll('revision')
      .where('version.app_id', 'in', ids)
      .orderBy('revision.id')
      .execute();
    const endpoints = await db
      .selectFrom('endpoint')
      .innerJoin('revision', 'revision.id', 'endpoint.revision_id')
      .innerJoin('version', 'version.id', 'revision.version_id')
      .selectAll('endpoint')
      .where('version.app_id', 'in', ids)
      .orderBy('endpoint.id')
      .execute();
    const versionTrees = toVersionTrees(
      versions.map(codecs.version.toRecord),
      revisions.map(codecs.revision.toRecord),
      await inPieces(endpoints, codecs.endpoint.toRecord),
    );
    trees.push(...toAppTrees(apps.map(codecs.app.toRecord), versionTrees));
  }
  return trees;
}

/** The trees of the existing versions among the ids, ordered by id. */
async function loadVersionTrees(
  db: Kysely<Tables>,
  codecs: Codecs,
  versionIds: readonly string[],
): Promise<VersionTree[]> {
  const trees: VersionTree[] = [];
  for (const ids of chunks(versionIds)) {
    const versions = await db
      .selectFrom('version')
      .selectAll()
      .where('id', 'in', ids)
      .orderBy('id')
      .execute();
    const revisions = await db
      .selectFrom('revision')
      .selectAll()
      .where('version_id', 'in', ids)
      .orderBy('id')
      .execute();
    const endpoints = await db
      .selectFrom('endpoint')
      .innerJoin('revision', 'revision.id', 'endpoint.revision_id')
      .selectAll('endpoint')
      .where('revision.version_id', 'in', ids)
      .orderBy('endpoint.id')
      .execute();
    trees.push(
      ...toVersionTrees(
        versions.map(codecs.version.toRecord),
        revisions.map(codecs.revision.toRecord),
        await inPieces(endpoints, codecs.endpoint.toRecord),
      ),
    );
  }
  return trees;
}

/** The state of everything that a write touched; deleted records are listed as removed. */
export async function loadChange(
  db: Kysely<Tables>,
  codecs: Codecs,
  touched: ChangeSet,
  configVersion: number,
): Promise<ConfigChange> {
  const apps = await loadAppTrees(db, codecs, touched.appIds);
  const single = new Set(touched.endpoints?.map(({ versionId }) => versionId));
  const versionIds = touched.versionIds.filter((id) => !single.has(id));
  const loadedVersions = await loadVersionTrees(db, codecs, versionIds);
  const keys: StoredApiKey[] = [];
  for (const ids of chunks(touched.keyIds)) {
    const rows = await db.selectFrom('api_key').selectAll().where('id', 'in', ids).orderBy('id').execute();
    keys.push(...rows.map(codecs.key.toRecord));
  }
  // Versions below a replaced app are skipped: they would be applied twice.
  const covered = new Set(apps.map(({ app }) => app.id));
  return {
    configVersion,
    reset: false,
    apps,
    removedAppIds: missing(
      touched.appIds,
      apps.map(({ app }) => app.id),
    ),
    versions: loadedVersions.filter(({ version }) => !covered.has(version.app_id)),
    removedVersionIds: missing(
      versionIds,
      loadedVersions.map(({ version }) => version.id),
    ),
    ...(touched.endpoints && { endpoints: await loadEndpointChanges(db, codecs, touched.endpoints) }),
    keys,
    removedKeyIds: missing(
      touched.keyIds,
      keys.map(({ id }) => id),
    ),
  };
}

async function loadEndpointChanges(
  db: Kysely<Tables>,
  codecs: Codecs,
  touched: readonly TouchedEndpoint[],
): Promise<EndpointChange[]> {
  const changes: EndpointChange[] = [];
  // One record for all of its endpoints: what is compiled from its policy is shared by them.
  const revisions = new Map<string, Revision | undefined>();
  for (const { versionId, revisionId, endpointId } of touched) {
    if (!revisions.has(revisionId)) revisions.set(revisionId, await findRevision(db, codecs, revisionId));
    const revision = revisions.get(revisionId);
    if (revision === undefined) continue;
    const endpoint = await db
      .selectFrom('endpoint')
      .selectAll()
      .where('id', '=', endpointId)
      .executeTakeFirst();
    changes.push({
      versionId,
      revision,
      endpointId,
      endpoint: endpoint && codecs.endpoint.toRecord(endpoint),
    });
  }
  return changes;
}

async function findRevision(db: Kysely<Tables>, codecs: Codecs, id: string): Promise<Revision | undefined> {
  const row = await db.selectFrom('revision').selectAll().where('id', '=', id).executeTakeFirst();
  return row && codecs.revision.toRecord(row);
}

/**
 * The whole configuration as one change. Call it inside a transaction, which sees one state.
 * @param onKeys receives the keys in batches; the change then has none
 */
export async function loadEverything(
  db: Kysely<Tables>,
  codecs: Codecs,
  position: ConfigPosition,
  onKeys?: (keys: readonly StoredApiKey[]) => void,
): Promise<ConfigChange> {
  const apps = await inBatches(
    (after) =>
      db.selectFrom('app').selectAll().where('id', '>', after).orderBy('id').limit(BATCH_ROWS).execute(),
    codecs.app.toRecord,
  );
  const versions = await inBatches(
    (after) =>
      db.selectFrom('version').selectAll().where('id', '>', after).orderBy('id').limit(BATCH_ROWS).execute(),
    codecs.version.toRecord,
  );
  const revisions = await inBatches(
    (after) =>
      db.selectFrom('revision').selectAll().where('id', '>', after).orderBy('id').limit(BATCH_ROWS).execute(),
    codecs.revision.toRecord,
  );
  const endpoints = await inBatches(
    (after) =>
      db.selectFrom('endpoint').selectAll().where('id', '>', after).orderBy('id').limit(BATCH_ROWS).execute(),
    codecs.endpoint.toRecord,
  );
  const keys = await inBatches(
    (after) =>
      db.selectFrom('api_key').selectAll().where('id', '>', after).orderBy('id').limit(BATCH_ROWS).execute(),
    codecs.key.toRecord,
    onKeys,
  );
  return {
    ...position,
    reset: true,
    apps: toAppTrees(apps, toVersionTrees(versions, revisions, endpoints)),
    removedAppIds: [],
    versions: [],
    removedVersionIds: [],
    keys,
    removedKeyIds: [],
  };
}

/** The keys of an app, ordered by id. */
export function loadKeysOfApp(db: Kysely<Tables>, codecs: Codecs, appId: string): Promise<StoredApiKey[]> {
  return inBatches(
    (after) =>
      db
        .selectFrom('api_key')
        .selectAll()
        .where('app_id', '=', appId)
        .where('id', '>', after)
        .orderBy('id')
        .limit(BATCH_ROWS)
        .execute(),
    codecs.key.toRecord,
  );
}

async function inBatches<Row extends { readonly id: string }, T>(
  query: (after: string) => Promise<Row[]>,
  toRecord: (row: Row) => T,
  onBatch?: (batch: readonly T[]) => void,
): Promise<T[]> {
  const all: T[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const rows: Row[] = await query(after);
    if (onBatch === undefined) for (const row of rows) all.push(toRecord(row));
    else onBatch(rows.map(toRecord));
    after = rows.length === BATCH_ROWS ? rows.at(-1)?.id : undefined;
    if (after !== undefined) await otherWork();
  }
  return all;
}

/** Makes the records of rows in pieces, so that the thread can handle other work between them. */
async function inPieces<Row, T>(rows: readonly Row[], toRecord: (row: Row) => T): Promise<T[]> {
  const all: T[] = [];
  for (const row of rows) {
    all.push(toRecord(row));
    if (all.length % BATCH_ROWS === 0) await otherWork();
  }
  return all;
}

const otherWork = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function toVersionTrees(
  versions: readonly Version[],
  revisions: readonly Revision[],
  endpoints: readonly Endpoint[],
): VersionTree[] {
  const endpointsOf = Map.groupBy(endpoints, ({ revision_id }) => revision_id);
  const revisionsOf = Map.groupBy(revisions, ({ version_id }) => version_id);
  return versions.map((version) => ({
    version,
    revisions: (revisionsOf.get(version.id) ?? []).map((revision) => ({
      revision,
      endpoints: endpointsOf.get(revision.id) ?? [],
    })),
  }));
}

export function toAppTrees(apps: readonly App[], versions: readonly VersionTree[]): AppTree[] {
  const versionsOf = Map.groupBy(versions, ({ version }) => version.app_id);
  return apps.map((app) => ({ app, versions: versionsOf.get(app.id) ?? [] }));
}

function* chunks(ids: readonly string[]): Generator<string[]> {
  const distinct = [...new Set(ids)];
  for (let start = 0; start < distinct.length; start += IDS_PER_QUERY_MAX) {
    yield distinct.slice(start, start + IDS_PER_QUERY_MAX);
  }
}

function missing(wanted: readonly string[], found: readonly string[]): string[] {
  const present = new Set(found);
  return [...new Set(wanted)].filter((id) => !present.has(id));
}
