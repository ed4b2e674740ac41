/**
 * The configuration of one thread in the form that requests are answered from. `prepare` compiles what a change affects
 * and checks it against the rest, in steps between which requests may be answered, and only then the change is
 * published, in one loop tick: no request sees half of a change, and a change that does not compile changes nothing.
 * Its cost depends on the change, not on the size of the configuration.
 *
 * Owns the app records and the compiled versions with their index. It writes the keys of a change into the table that
 * it was given, if that is writable; a worker has only a reader of the node's table, which the main thread changes
 * before it sends the rest. A version is copied when a request first asks for it (in-use.ts), before that request sees
 * it. From then on routes are immutable, and so are versions, except the tries of their endpoints: an exchange
 * continues with the objects that it has taken after they were replaced. Records of versions, revisions and endpoints
 * are not kept.
 */
import type { ConfigChange } from '../model/config.ts';
import { inOneTurn, type Steps } from './changes/slices.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { CompileError } from './compile-error.ts';
import { compileEndpointChanges } from './compile-endpoints.ts';
import { compileVersion, createAppContext } from './compile.ts';
import type { AppContext } from './compile.ts';
import { HostIndex } from './lookup/host-index.ts';
import { KeyTable } from '../keys/key-table.ts';
import type { KeyReader } from '../keys/key-table.ts';
import { versionForUse } from './in-use.ts';
import type { CompiledRevision, CompiledVersion, Mutable, PolicyCompiler, Snapshot } from './types.ts';

interface HeldApp<P> {
  readonly context: AppContext<P>;
  readonly versionIds: Set<string>;
}

/** Everything that a change publishes, compiled and checked. */
interface Plan<P> {
  readonly apps: readonly AppContext<P>[];
  readonly versions: ReadonlyMap<string, CompiledVersion<P>>;
  /** Existing versions that the change removes, unless `versions` contains them again. */
  readonly dropped: ReadonlySet<string>;
  /** For revisions of versions that are not replaced. */
  readonly endpoints: readonly EndpointTries<P>[];
}

type EndpointTries<P> = ReadonlyMap<CompiledRevision<P>, CompiledRevision<P>['endpoints']>;

export class SnapshotHolder<P> {
  /** The keys; also the directory of the api-key stage. Exists before the first `apply`. */
  readonly keys: KeyReader;
  readonly #compilePolicy: PolicyCompiler<P>;
  readonly #apps = new Map<string, HeldApp<P>>();
  readonly #versions = new Map<string, CompiledVersion<P>>();
  readonly #index = new HostIndex<CompiledVersion<P>>();
  #current: Snapshot<P>;

  /** @param keys given when the policy compiler needs the table before the holder exists */
  constructor(compilePolicy: PolicyCompiler<P>, keys: KeyReader = new KeyTable()) {
    this.#compilePolicy = compilePolicy;
    this.keys = keys;
    this.#current = this.#snapshot(0);
  }

  get current(): Snapshot<P> {
    return this.#current;
  }

  /** All versions, in no particular order. */
  versions(): IterableIterator<CompiledVersion<P>> {
    return this.#versions.values();
  }

  /**
   * Applies a change at once. Throws CompileError when it does not compile or contradicts the current state, and Error
   * when it is not the next one; the caller then asks for everything, with `reset`. When it throws, nothing has
   * changed.
   */
  apply(change: ConfigChange): void {
    inOneTurn(this.prepare(change))();
  }

  /**
   * Compiles and checks a change without applying it, in steps. Requests may be answered between them; no other change
   * may be applied until this one is. Throws like `apply`.
   * @returns publishes the change
   */
  *prepare(change: ConfigChange): Steps<() => void> {
    this.#assertNext(change);
    const plan = yield* this.#plan(change);
    return () => {
      this.#assertNext(change);
      this.#publish(change, plan);
    };
  }

  #assertNext(change: ConfigChange): void {
    const { configVersion } = this.#current;
    const after = change.after?.configVersion ?? change.configVersion - 1;
    if (!change.reset && after !== configVersion) {
      throw new Error(
        `Cannot apply config version ${change.configVersion} to ${configVersion}: must follow it`,
      );
    }
  }

  /** Nothing in here can fail. */
  #publish(change: ConfigChange, plan: Plan<P>): void {
    if (change.reset) {
      // In place, so that an earlier snapshot finds the current state, as after any change.
      for (const id of this.#versions.keys()) this.#remove(id);
      this.#apps.clear();
    }
    this.#commit(change, plan);
    if (this.keys instanceof KeyTable) changeKeys(this.keys, change);
    this.#current = this.#snapshot(change.configVersion);
  }

  #snapshot(configVersion: number): Snapshot<P> {
    return new LiveSnapshot(configVersion, this.#index, this.keys, (version) => this.#takeIntoUse(version));
  }

  /** Copies the version when a request asks for it for the first time. */
  #takeIntoUse(version: CompiledVersion<P>): CompiledVersion<P> {
    const copy = versionForUse(version);
    this.#versions.set(copy.id, copy);
    this.#index.renew(copy);
    return copy;
  }

  *#plan(change: ConfigChange): Steps<Plan<P>> {
    const apps = new Map<string, AppContext<P>>();
    const versions = new Map<string, CompiledVersion<P>>();
    const removedApps = new Set(change.removedAppIds);
    const contextOf = (appId: string): AppContext<P> | undefined =>
      apps.get(appId) ??
      (change.reset || removedApps.has(appId) ? undefined : this.#apps.get(appId)?.context);
    for (const { app } of change.apps) apps.set(app.id, createAppContext(app));
    for (const tree of [...change.apps.flatMap((app) => app.versions), ...change.versions]) {
      const { id, app_id: appId, version } = tree.version;
      const context = contextOf(appId);
      if (context === undefined) {
        throw new CompileError(
          `Cannot compile version ${version}: its app ${appId} is unknown`,
          id,
          'app_id',
        );
      }
      versions.set(id, yield* compileVersion(context, tree, this.#compilePolicy, this.#versions.get(id)));
    }
    const dropped = this.#droppedBy(change);
    yield* this.#refuseTakenPaths(versions, dropped, change.reset);
    const endpoints = yield* this.#planEndpoints(change);
    return { apps: [...apps.values()], versions, dropped, endpoints };
  }

  *#planEndpoints({ endpoints = [] }: ConfigChange): Steps<EndpointTries<P>[]> {
    const tries: EndpointTries<P>[] = [];
    for (const [versionId, changes] of Map.groupBy(endpoints, (each) => each.versionId)) {
      const version = this.#versions.get(versionId);
      const context = this.#apps.get(version?.app.id ?? '')?.context;
      if (version === undefined || context === undefined) {
        const problem = `its version ${versionId} is unknown`;
        const [id, field] = [changes[0]?.endpointId ?? '', 'path'];
        throw new CompileError(`Cannot compile an endpoint: ${problem}`, id, field);
      }
      const inUse = version.isInUse ? version : this.#takeIntoUse(version);
      tries.push(yield* compileEndpointChanges(context, inUse, changes, this.#compilePolicy));
    }
    return tries;
  }

  #droppedBy(change: ConfigChange): Set<string> {
    const dropped = new Set(change.removedVersionIds);
    for (const id of change.removedAppIds)
      this.#apps.get(id)?.versionIds.forEach((each) => dropped.add(each));
    for (const { app } of change.apps) {
      this.#apps.get(app.id)?.versionIds.forEach((each) => dropped.add(each));
    }
    return dropped;
  }

  *#refuseTakenPaths(
    versions: ReadonlyMap<string, CompiledVersion<P>>,
    dropped: ReadonlySet<string>,
    reset: boolean,
  ): Steps<void> {
    const taken = new Map<string, CompiledVersion<P>>();
    const isGone = ({ id }: CompiledVersion<P>): boolean => reset || dropped.has(id) || versions.has(id);
    for (const version of versions.values()) {
      const { gatewayPath, app } = version;
      // No host contains a slash, and every path except '' begins with one.
      const places = app.hosts.length === 0 ? [gatewayPath] : app.hosts.map((host) => host + gatewayPath);
      let other = reset ? undefined : this.#index.conflicting(version, isGone);
      for (const place of places) {
        other ??= taken.get(place);
        taken.set(place, version);
      }
      if (other !== undefined) {
        const problem = `version ${other.label} of ${other.app.slug} has the same`;
        const path = gatewayPath === '' ? '/' : gatewayPath;
        throw new CompileError(`Cannot use gateway_path "${path}": ${problem}`, version.id, 'gateway_path');
      }
      yield;
    }
  }

  #commit(change: ConfigChange, plan: Plan<P>): void {
    for (const id of plan.dropped) this.#remove(id);
    for (const id of change.removedAppIds) this.#apps.delete(id);
    for (const context of plan.apps) this.#apps.set(context.record.id, { context, versionIds: new Set() });
    // Removes all old paths before adding new ones: two versions may have exchanged their paths.
    for (const id of plan.versions.keys()) this.#remove(id);
    for (const version of plan.versions.values()) {
      this.#versions.set(version.id, version);
      this.#index.set(version);
      version.app.versionPaths.set(version.label, version.gatewayPath);
      this.#apps.get(version.app.id)?.versionIds.add(version.id);
    }
    for (const tries of plan.endpoints) {
      for (const [revision, trie] of tries) (revision as Mutable<CompiledRevision<P>>).endpoints = trie;
    }
  }

  #remove(versionId: string): void {
    const version = this.#versions.get(versionId);
    if (version === undefined) return;
    this.#versions.delete(versionId);
    this.#index.delete(version);
    version.app.versionPaths.delete(version.label);
    this.#apps.get(version.app.id)?.versionIds.delete(versionId);
  }
}

/** The table belongs to this thread alone: no other thread can be reading the blocks that it frees. */
function changeKeys(table: KeyTable, { reset, keys, removedKeyIds }: ConfigChange): void {
  if (reset) table.replaceAll(keys);
  else table.change(keys, removedKeyIds);
  table.release(table.takeRetired());
}

/** Reads the holder's live structures. There is one snapshot per config version, since the version is part of it. */
class LiveSnapshot<P> implements Snapshot<P> {
  readonly configVersion: number;
  readonly #index: HostIndex<CompiledVersion<P>>;
  readonly #keys: KeyReader;
  readonly #takeIntoUse: (version: CompiledVersion<P>) => CompiledVersion<P>;

  constructor(
    configVersion: number,
    index: HostIndex<CompiledVersion<P>>,
    keys: KeyReader,
    takeIntoUse: (version: CompiledVersion<P>) => CompiledVersion<P>,
  ) {
    this.configVersion = configVersion;
    this.#index = index;
    this.#keys = keys;
    this.#takeIntoUse = takeIntoUse;
  }

  findVersion(canonicalPath: string, authority = ''): CompiledVersion<P> | undefined {
    const version = this.#index.find(canonicalPath, authority);
    return version === undefined || version.isInUse ? version : this.#takeIntoUse(version);
  }

  findAtAnyHost(canonicalPath: string): CompiledVersion<P> | undefined {
    return this.#index.findAtAnyHost(canonicalPath);
  }

  findNear(canonicalPath: string, authority: string): CompiledVersion<P> | undefined {
    return this.#index.findNear(canonicalPath, authority, ({ status }) => status !== 'retired');
  }

  findKeyByHash(hash: string): StoredApiKey | undefined {
    return this.#keys.findKeyByHash(hash);
  }
}
