/**
 * The main thread's copy of the configuration as a `ConfigReader`, for reads while the database is unavailable: apps,
 * versions, revisions, endpoints and keys. Throws StorageUnavailable for data that only the database has (admin tokens,
 * sessions, the audit log, the history, usage of keys), and for lists of so many keys that iterating them would block
 * the main thread.
 */
import type { AppTree, RevisionTree, VersionTree } from '../../model/config.ts';
import { matchesFilter, type FilteredRecords, type FilteredTable } from '../../storage/list-filter.ts';
import type { ConfigReader, HostsOwner, Page, PageRequest } from '../../storage/repository.ts';
import { unusableDatabase } from '../../storage/storage-errors.ts';
import type { ConfigState } from '../cluster/config-state.ts';

const KEYS_LISTED_MAX = 100_000;

export function configCopyReader(state: ConfigState): ConfigReader {
  const apps = (): readonly AppTree[] => state.asWorkerChange().apps;
  const versions = (): VersionTree[] => apps().flatMap((tree) => [...tree.versions]);
  const versionTree = (id: string): VersionTree | undefined => state.versionTree(id);
  const revisionsOf = (versionId: string) => versionTree(versionId)?.revisions ?? [];
  const endpointsOf = (revisionId: string) =>
    versions()
      .flatMap(({ revisions }) => [...revisions])
      .find(({ revision }) => revision.id === revisionId)?.endpoints ?? [];
  const appRecords = () => apps().map(({ app }) => app);
  const versionsOf = (appId: string) =>
    apps()
      .filter(({ app }) => app.id === appId)
      .flatMap((tree) => tree.versions.map(({ version }) => version));
  return {
    configVersion: async () => state.configVersion,
    listApps: async (page) => pageOf('app', appRecords(), page),
    findApp: async (ref) => named(appRecords(), ref, ({ slug }) => slug),
    listVersions: async (appId, page) => pageOf('version', versionsOf(appId), page),
    findVersion: async (appId, ref) => named(versionsOf(appId), ref, ({ version }) => version),
    findVersionsBySuccessor: async (appId, label) =>
      versionsOf(appId).filter(({ successor }) => successor === label),
    listRevisions: async (versionId, page) =>
      pageOf(
        'revision',
        revisionsOf(versionId).map(({ revision }) => revision),
        page,
      ),
    findRevision: async (versionId, ref) =>
      named(
        revisionsOf(versionId).map(({ revision }) => revision),
        ref,
        ({ revision }) => revision,
      ),
    listEndpoints: async (revisionId, page) => pageOf('endpoint', endpointsOf(revisionId), page),
    findEndpoint: async (revisionId, id) => endpointsOf(revisionId).find((endpoint) => endpoint.id === id),
    findEndpointByMethodAndPath: async (revisionId, method, path) =>
      endpointsOf(revisionId).find((endpoint) => endpoint.method === method && endpoint.path === path),
    findEndpointPaths: async (revisionId, method, prefix) =>
      endpointsOf(revisionId).filter(
        (endpoint) => endpoint.method === method && endpoint.path.startsWith(prefix),
      ),
    loadAppTree: async (appId) => apps().find(({ app }) => app.id === appId),
    ...hostReads(state),
    ...stateReads(state),
    ...keyReads(state),
    ...absent,
  };
}

function hostReads(state: ConfigState) {
  const trees = (): readonly AppTree[] => state.asWorkerChange().apps;
  const sharing = ({ appId, hosts }: HostsOwner): AppTree[] =>
    trees().filter(
      ({ app }) =>
        app.id !== appId &&
        (hosts.length === 0 ? app.hosts.length === 0 : app.hosts.some((host) => hosts.includes(host))),
    );
  const versionAt = (path: string, among: readonly AppTree[]) =>
    among
      .flatMap(({ versions }) => versions.map(({ version }) => version))
      .find(({ gateway_path }) => gateway_path === path);
  return {
    findAppAt: async (path, owner) => sharing(owner).find(({ app }) => app.gateway_path === path)?.app,
    findVersionAt: async (path, owner) => versionAt(path, sharing(owner)),
    findOwnVersionAt: async (path, appId) =>
      versionAt(
        path,
        trees().filter(({ app }) => app.id === appId),
      ),
    // Needed only for warnings of writes, which need the database.
    findHostOverlap: async () => undefined,
  } satisfies Partial<ConfigReader>;
}

/** Reads for the warnings about a configuration. */
function stateReads(state: ConfigState) {
  const trees = (): readonly AppTree[] => state.asWorkerChange().apps;
  const isServed = ({ endpoints }: RevisionTree): boolean => endpoints.some(({ is_active }) => is_active);
  return {
    hasActiveEndpoint: async (revisionId) =>
      trees().some(({ versions }) =>
        versions.some(({ revisions }) =>
          revisions.some((tree) => tree.revision.id === revisionId && isServed(tree)),
        ),
      ),
    findRevisionWithoutEndpoint: async (appId) => {
      const versions = trees().find(({ app }) => app.id === appId)?.versions ?? [];
      for (const { version, revisions } of versions.filter((tree) => tree.version.status !== 'retired')) {
        const found = revisions.find((tree) => tree.revision.is_current && !isServed(tree));
        if (found !== undefined) return { version: version.version, revision: found.revision.revision };
      }
      return undefined;
    },
    currentWeights: async (versionId) => {
      const revisions = state.versionTree(versionId)?.revisions ?? [];
      const current = revisions.filter(({ revision }) => revision.is_current);
      const weight = current.reduce((sum, { revision }) => sum + revision.traffic_weight, 0);
      return { count: current.length, weight };
    },
    // Unknown: iterating the keys would block the main thread.
    someKeyHasScopes: async () => undefined,
  } satisfies Partial<ConfigReader>;
}

function keyReads({ keys }: ConfigState) {
  return {
    listKeys: async (appId, page) => {
      if (keys.size > KEYS_LISTED_MAX) return away();
      return pageOf(
        'api_key',
        [...keys.all()].filter((key) => key.app_id === appId),
        page,
      );
    },
    findKey: async (appId, id) => {
      const key = keys.findKeyById(id);
      return key?.app_id === appId ? key : undefined;
    },
    findKeyByHash: async (hash) => keys.findKeyByHash(hash),
  } satisfies Partial<ConfigReader>;
}

const absent = {
  listKeyUsage: async () => away(),
  listAdminTokens: async () => away(),
  findAdminToken: async () => away(),
  findAdminTokenByHash: async () => away(),
  findSession: async () => away(),
  findSessionByHash: async () => away(),
  listSessions: async () => away(),
  countSessions: async () => away(),
  listWebhooks: async () => away(),
  findWebhook: async () => away(),
  countWebhooks: async () => away(),
  listDeadLetters: async () => away(),
  listAudit: async () => away(),
  historyFrom: async () => away(),
  listHistory: async () => away(),
  findHistory: async () => away(),
  firstRecords: async () => away(),
  historyChanges: async () => away(),
  appsAt: async () => away(),
} satisfies Partial<ConfigReader>;

function away(): never {
  throw unusableDatabase('it is unavailable, and this is stored only there');
}

/** An id takes precedence over an equal label. */
function named<T extends { readonly id: string }>(
  records: readonly T[],
  ref: string,
  labelOf: (record: T) => string,
): T | undefined {
  return records.find(({ id }) => id === ref) ?? records.find((record) => labelOf(record) === ref);
}

function pageOf<T extends FilteredTable>(
  table: T,
  all: readonly FilteredRecords[T][],
  { limit, after, order, filter }: PageRequest,
): Page<FilteredRecords[T]> {
  const records = filter === undefined ? all : all.filter((record) => matchesFilter(table, record, filter));
  const isNewestFirst = order === 'newest_first';
  const rest = records
    .filter(({ id }) => after === undefined || (isNewestFirst ? id < after : id > after))
    .toSorted((a, b) => (a.id < b.id === isNewestFirst ? 1 : -1));
  const items = rest.slice(0, limit);
  return {
    items,
    total: records.length,
    nextAfter: rest.length > limit ? (items.at(-1)?.id ?? null) : null,
  };
}
