/**
 * The main thread's copy of the configuration, as plain records. A worker that starts gets it, even while the database
 * is unavailable. Also owns the shared memory of the breakers: one per revision, kept while the revision and its
 * backend stay the same.
 */
import type {
  AppTree,
  ConfigChange,
  ConfigPosition,
  EndpointChange,
  VersionTree,
} from '../../model/config.ts';
import type { App, Endpoint, Revision, Version } from '../../model/resources.ts';
import { createBreakerMemory } from '../../proxy/resilience/breaker.ts';
import { KeyTable } from '../../keys/key-table.ts';

export type BreakerEntry = readonly [revisionId: string, memory: SharedArrayBuffer];

interface AppEntry {
  app: App;
  readonly versions: Map<string, VersionTree>;
}

export class ConfigState {
  /** The API keys of the node, shared with the workers; only `apply` writes them once workers exist. */
  readonly keys: KeyTable;
  #configVersion = 0;
  #changeId: string | undefined;
  readonly #apps = new Map<string, AppEntry>();
  readonly #appOfVersion = new Map<string, AppEntry>();
  readonly #breakers = new Map<string, SharedArrayBuffer>();
  #removed: string[] = [];
  readonly #probed = new Map<string, Revision>();

  constructor(keys: KeyTable = new KeyTable()) {
    this.keys = keys;
  }

  get configVersion(): number {
    return this.#configVersion;
  }

  get position(): ConfigPosition {
    return { configVersion: this.#configVersion, changeId: this.#changeId };
  }

  /**
   * Applies a change. Returns the ids of revisions whose breaker was removed because their backend was removed or
   * changed. Workers see changed keys at once. Throws KeyMemoryFull, without a change, if the keys do not fit.
   * @param keysAreIn true if the keys of the change were stored in `keys` while it was read
   */
  apply(change: ConfigChange, keysAreIn = false): readonly string[] {
    if (!keysAreIn) this.#applyKeys(change);
    this.#removed = [];
    if (change.reset) this.#clear();
    this.#configVersion = change.configVersion;
    this.#changeId = change.changeId;
    for (const id of change.removedAppIds) this.#removeApp(id);
    for (const tree of change.apps) this.#putApp(tree);
    for (const id of change.removedVersionIds) this.#removeVersion(id);
    for (const tree of change.versions) this.#putVersion(tree);
    for (const each of change.endpoints ?? []) this.#changeEndpoint(each);
    return this.#removed;
  }

  /** Everything as one change. */
  asChange(): ConfigChange {
    return { ...this.asWorkerChange(), keys: [...this.keys.all()] };
  }

  /** Everything except the keys, for a worker that starts. */
  asWorkerChange(): ConfigChange {
    return {
      configVersion: this.#configVersion,
      reset: true,
      apps: [...this.#apps.values()].map((entry) => ({
        app: entry.app,
        versions: [...entry.versions.values()],
      })),
      removedAppIds: [],
      versions: [],
      removedVersionIds: [],
      keys: [],
      removedKeyIds: [],
    };
  }

  appOf(id: string): App | undefined {
    return this.#apps.get(id)?.app;
  }

  versionTree(id: string): VersionTree | undefined {
    return this.#appOfVersion.get(id)?.versions.get(id);
  }

  appIds(): IterableIterator<string> {
    return this.#apps.keys();
  }

  versionIdsOf(appId: string): Iterable<string> {
    return this.#apps.get(appId)?.versions.keys() ?? [];
  }

  /** Every revision with its version and app. */
  *revisions(): IterableIterator<{ app: App; version: Version; revision: Revision }> {
    for (const { app, versions } of this.#apps.values())
      for (const { version, revisions } of versions.values())
        for (const { revision } of revisions) yield { app, version, revision };
  }

  /** The breakers of the revisions in a change; created when first needed. */
  breakersOf(change: ConfigChange): BreakerEntry[] {
    const entries: BreakerEntry[] = [];
    const add = (tree: VersionTree): void => {
      for (const { revision } of tree.revisions)
        entries.push([revision.id, this.#breakerMemory(revision.id)]);
    };
    for (const app of change.apps) app.versions.forEach(add);
    change.versions.forEach(add);
    return entries;
  }

  breakerOf(revisionId: string): SharedArrayBuffer | undefined {
    return this.#breakers.get(revisionId);
  }

  /** Every revision with a health check that may receive traffic. */
  probedRevisions(): Iterable<Revision> {
    return this.#probed.values();
  }

  #applyKeys({ reset, keys, removedKeyIds }: ConfigChange): void {
    if (reset) this.keys.replaceAll(keys);
    else this.keys.change(keys, removedKeyIds);
  }

  #breakerMemory(revisionId: string): SharedArrayBuffer {
    let memory = this.#breakers.get(revisionId);
    if (memory === undefined) this.#breakers.set(revisionId, (memory = createBreakerMemory()));
    return memory;
  }

  #clear(): void {
    for (const id of this.#breakers.keys()) this.#removed.push(id);
    this.#apps.clear();
    this.#appOfVersion.clear();
    this.#breakers.clear();
    this.#probed.clear();
  }

  #putApp(tree: AppTree): void {
    const kept = new Set(tree.versions.map((version) => version.version.id));
    const entry: AppEntry = this.#apps.get(tree.app.id) ?? { app: tree.app, versions: new Map() };
    entry.app = tree.app;
    this.#apps.set(tree.app.id, entry);
    for (const id of entry.versions.keys()) if (!kept.has(id)) this.#removeVersion(id);
    for (const version of tree.versions) this.#putVersion(version);
  }

  #putVersion(tree: VersionTree): void {
    const entry = this.#apps.get(tree.version.app_id);
    if (entry === undefined) return;
    const kept = new Map(tree.revisions.map(({ revision }) => [revision.id, revision]));
    for (const { revision } of entry.versions.get(tree.version.id)?.revisions ?? []) {
      const next = kept.get(revision.id);
      // Failures of one backend must not count against the backend that replaces it.
      if (next === undefined || !sameBackend(revision, next)) this.#removeRevision(revision.id);
    }
    entry.versions.set(tree.version.id, tree);
    this.#appOfVersion.set(tree.version.id, entry);
    for (const { revision } of tree.revisions) this.#noteProbed(revision);
  }

  #noteProbed(revision: Revision): void {
    if (revision.is_current && revision.health_check_path !== null) this.#probed.set(revision.id, revision);
    else this.#probed.delete(revision.id);
  }

  #changeEndpoint({ versionId, revision, endpointId, endpoint }: EndpointChange): void {
    const versions = this.#appOfVersion.get(versionId)?.versions;
    const tree = versions?.get(versionId);
    if (versions === undefined || tree === undefined) return;
    const revisions = tree.revisions.map((each) =>
      each.revision.id === revision.id
        ? { ...each, endpoints: withEndpoint(each.endpoints, endpointId, endpoint) }
        : each,
    );
    versions.set(versionId, { ...tree, revisions });
  }

  #removeApp(id: string): void {
    const entry = this.#apps.get(id);
    if (entry === undefined) return;
    for (const versionId of entry.versions.keys()) this.#removeVersion(versionId);
    this.#apps.delete(id);
  }

  #removeVersion(id: string): void {
    const entry = this.#appOfVersion.get(id);
    for (const { revision } of entry?.versions.get(id)?.revisions ?? []) this.#removeRevision(revision.id);
    entry?.versions.delete(id);
    this.#appOfVersion.delete(id);
  }

  #removeRevision(id: string): void {
    this.#removed.push(id);
    this.#probed.delete(id);
    this.#breakers.delete(id);
  }
}

/** Removes the endpoint with this id, or replaces it and puts it last. */
function withEndpoint(
  endpoints: readonly Endpoint[],
  id: string,
  endpoint: Endpoint | undefined,
): readonly Endpoint[] {
  const index = endpoints.findIndex((each) => each.id === id);
  if (endpoint === undefined) return index < 0 ? endpoints : endpoints.toSpliced(index, 1);
  return index < 0 ? [...endpoints, endpoint] : endpoints.with(index, endpoint);
}

function sameBackend(a: Revision, b: Revision): boolean {
  return (
    a.backend_scheme === b.backend_scheme &&
    a.backend_host === b.backend_host &&
    a.backend_port === b.backend_port &&
    JSON.stringify(a.backend_tls) === JSON.stringify(b.backend_tls)
  );
}
