/**
 * The main thread's copy of the configuration, as plain records. A worker that starts gets it, even while the database
 * is unavailable. Also owns the shared memory of the breakers: one per revision, kept while the revision and some of
 * its targets stay the same; and says which connection pools have lost their target.
 */
import { hasHealthCheck } from '../../config/backend.ts';
import type {
  AppTree,
  ConfigChange,
  ConfigPosition,
  EndpointChange,
  VersionTree,
} from '../../model/config.ts';
import type { App, Endpoint, FoundTarget, Revision, Version } from '../../model/resources.ts';
import { createBreakerMemory, type BreakerMemory } from '../../proxy/resilience/breaker.ts';
import type { TargetsMemory } from '../../proxy/targets/target-memory.ts';
import { isBalanced, targetKeys } from '../../config/targets.ts';
import { KeyTable } from '../../keys/key-table.ts';
import { DiscoveredTargets } from './discovered-targets.ts';
import type { TargetMemories } from './target-memories.ts';

/**
 * The memory of a revision with several targets, and the found targets if it has discovery; without memory it
 * has a single target.
 */
export type TargetsEntry = readonly [
  revisionId: string,
  memory: TargetsMemory | undefined,
  found?: readonly FoundTarget[] | undefined,
];
export type BreakerEntry = readonly [revisionId: string, memory: BreakerMemory];

interface AppEntry {
  app: App;
  readonly versions: Map<string, VersionTree>;
}

/** A revision with the records above it. */
export interface RevisionPlace {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
}

export class ConfigState {
  /** The API keys of the node, shared with the workers; only `apply` writes them once workers exist. */
  readonly keys: KeyTable;
  readonly discovered = new DiscoveredTargets();
  #configVersion = 0;
  #changeId: string | undefined;
  readonly #apps = new Map<string, AppEntry>();
  readonly #appOfVersion = new Map<string, AppEntry>();
  readonly #breakers = new Map<string, BreakerMemory>();
  /** undefined until workers exist. */
  #targets: TargetMemories | undefined;
  #removed: string[] = [];
  #endedPools: string[] = [];
  readonly #probed = new Map<string, Revision>();
  readonly #balanced = new Map<string, Revision>();

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
    this.#endedPools = [];
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

  /** The whole configuration as one change. */
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
  *revisions(): IterableIterator<RevisionPlace> {
    for (const { app, versions } of this.#apps.values())
      for (const { version, revisions } of versions.values())
        for (const { revision } of revisions) yield { app, version, revision };
  }

  /** Searches all revisions. Use it only for rare events, such as a backend that begins to fail. */
  placeOf(revisionId: string): RevisionPlace | undefined {
    for (const placed of this.revisions()) if (placed.revision.id === revisionId) return placed;
    return undefined;
  }

  /** The names of a revision in log lines; without app and version when it has just been removed. */
  logNamesOf({ id, revision }: Pick<Revision, 'id' | 'revision'>): Readonly<Record<string, string>> {
    const place = this.placeOf(id);
    const names = place === undefined ? {} : { app: place.app.slug, version: place.version.version };
    return { ...names, revision, revision_id: id };
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

  /** Pool keys of the targets that the latest change has removed from some revision. */
  get endedPools(): readonly string[] {
    return this.#endedPools;
  }

  /** Provides memory for the targets of revisions from now on. */
  shareTargets(memories: TargetMemories): void {
    this.#targets = memories;
  }

  /** The memory of the targets of the revisions in a change; created when first needed. */
  targetsOf(change: ConfigChange): TargetsEntry[] {
    const memories = this.#targets;
    if (memories === undefined) return [];
    const ofVersion = (tree: VersionTree): TargetsEntry[] =>
      tree.revisions.map(({ revision }) => this.#targetsEntry(revision, memories));
    return [...change.apps.flatMap((app) => app.versions), ...change.versions].flatMap(ofVersion);
  }

  /**
   * Replaces the targets that were found at a source.
   * @returns by revision with this source, the pools whose target is gone
   */
  setFound(key: string, targets: readonly FoundTarget[]): ReadonlyMap<string, readonly string[]> {
    const revisions = [...(this.discovered.find(key)?.revisions.values() ?? [])];
    const before = revisions.map((revision) => this.#servedKeys(revision));
    this.discovered.setTargets(key, targets);
    return new Map(
      revisions.map((revision, index) => {
        const keys = new Set(this.#servedKeys(revision));
        return [revision.id, (before[index] ?? []).filter((each) => !keys.has(each))];
      }),
    );
  }

  /** Like `targetsOf` for single revisions with discovery, some of which may be gone. */
  discoveredEntries(revisionIds: readonly string[]): TargetsEntry[] {
    const memories = this.#targets;
    if (memories === undefined) return [];
    return revisionIds.flatMap((id) => {
      const revision = this.discovered.revision(id);
      return revision === undefined ? [] : [this.#targetsEntry(revision, memories)];
    });
  }

  #targetsEntry(revision: Revision, memories: TargetMemories): TargetsEntry {
    const memory = memories.memoryFor(this.discovered.served(revision));
    return [revision.id, memory, this.discovered.targetsOf(revision)];
  }

  #servedKeys(revision: Revision): string[] {
    return targetKeys(this.discovered.served(revision));
  }

  /** The targets of one revision; undefined while it has a single one. */
  targetMemory(revisionId: string): TargetsMemory | undefined {
    return this.#targets?.find(revisionId);
  }

  breakerOf(revisionId: string): BreakerMemory | undefined {
    return this.#breakers.get(revisionId);
  }

  /** Every revision with a health check that may receive traffic. */
  probedRevisions(): Iterable<Revision> {
    return this.#probed.values();
  }

  /** Every revision that has or may have several targets. */
  balancedRevisions(): Iterable<Revision> {
    return this.#balanced.values();
  }

  #applyKeys({ reset, keys, removedKeyIds }: ConfigChange): void {
    if (reset) this.keys.replaceAll(keys);
    else this.keys.change(keys, removedKeyIds);
  }

  #breakerMemory(revisionId: string): BreakerMemory {
    let memory = this.#breakers.get(revisionId);
    if (memory === undefined) this.#breakers.set(revisionId, (memory = createBreakerMemory()));
    return memory;
  }

  #clear(): void {
    for (const id of this.#breakers.keys()) this.#removed.push(id);
    for (const { revision } of this.revisions()) this.#endedPools.push(...this.#servedKeys(revision));
    this.#targets?.clear();
    this.discovered.clear();
    this.#apps.clear();
    this.#appOfVersion.clear();
    this.#breakers.clear();
    this.#probed.clear();
    this.#balanced.clear();
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
      const keys = new Set(next === undefined ? [] : this.#servedKeys(next));
      const before = this.#servedKeys(revision);
      const left = before.filter((key) => !keys.has(key));
      this.#endedPools.push(...left);
      // Failures of one backend must not count against the backend that replaces it.
      if (next === undefined || left.length === before.length) this.#removeRevision(revision.id);
    }
    entry.versions.set(tree.version.id, tree);
    this.#appOfVersion.set(tree.version.id, entry);
    for (const { revision } of tree.revisions) this.#noteWatched(revision);
  }

  #noteWatched(revision: Revision): void {
    if (revision.is_current && hasHealthCheck(revision)) this.#probed.set(revision.id, revision);
    else this.#probed.delete(revision.id);
    this.discovered.put(revision);
    if (isBalanced(revision)) this.#balanced.set(revision.id, revision);
    else this.#balanced.delete(revision.id);
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
    for (const { revision } of entry?.versions.get(id)?.revisions ?? []) {
      this.#endedPools.push(...this.#servedKeys(revision));
      this.#removeRevision(revision.id);
    }
    entry?.versions.delete(id);
    this.#appOfVersion.delete(id);
  }

  #removeRevision(id: string): void {
    this.#removed.push(id);
    this.#probed.delete(id);
    this.#balanced.delete(id);
    this.#breakers.delete(id);
    this.#targets?.delete(id);
    this.discovered.delete(id);
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
