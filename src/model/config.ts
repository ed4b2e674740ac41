/**
 * The configuration as the main thread sends it to the workers: plain data that survives a structured clone. The first
 * message contains everything, later ones only what a write has changed, down to one version's subtree or one key. The
 * cost of a write depends on its change, not on the size of the configuration.
 */
import type { App, Endpoint, Revision, StoredApiKey, Version } from './resources.ts';

export interface RevisionTree {
  readonly revision: Revision;
  readonly endpoints: readonly Endpoint[];
}

export interface VersionTree {
  readonly version: Version;
  readonly revisions: readonly RevisionTree[];
}

export interface AppTree {
  readonly app: App;
  readonly versions: readonly VersionTree[];
}

/**
 * A state of the configuration. The version number alone is not enough: a database that was reset to an earlier state,
 * for example by a failover that lost the last writes, reaches the same numbers again through other changes.
 */
export interface ConfigPosition {
  readonly configVersion: number;
  /** The id of the change that led to this state; undefined when it is no longer known. */
  readonly changeId: string | undefined;
}

/** A step from config version `configVersion - 1` (or from nothing, when `reset`) to `configVersion`. */
export interface ConfigChange {
  readonly configVersion: number;
  /** See `ConfigPosition`. */
  readonly changeId?: string | undefined;
  /**
   * The state that the change follows, when it combines several writes; absent: `configVersion - 1`. Ignored with
   * `reset`.
   */
  readonly after?: ConfigPosition;
  /** True for the first message to a worker: it drops its state before it applies the message. */
  readonly reset: boolean;
  /** Apps with everything below them; each replaces the app with the same id. */
  readonly apps: readonly AppTree[];
  readonly removedAppIds: readonly string[];
  /** Versions to add or replace, of apps that exist or are part of the same change. */
  readonly versions: readonly VersionTree[];
  readonly removedVersionIds: readonly string[];
  /** Single endpoints of existing versions that are not among `versions`. */
  readonly endpoints?: readonly EndpointChange[];
  readonly keys: readonly StoredApiKey[];
  readonly removedKeyIds: readonly string[];
}

/** An endpoint to add, to replace by its id, or (undefined) to remove. */
export interface EndpointChange {
  readonly versionId: string;
  /** Unchanged; the endpoint's policy overrides the revision's. */
  readonly revision: Revision;
  readonly endpointId: string;
  readonly endpoint: Endpoint | undefined;
}

/** What a write has changed, by id; the publisher loads the rest. */
export interface ChangeSet {
  /** Apps that were created, deleted or changed in a way that affects everything below them. */
  readonly appIds: readonly string[];
  /** Versions whose subtree changed (or that were created or deleted). */
  readonly versionIds: readonly string[];
  /**
   * The only changed endpoints of their versions, which are among `versionIds`; absent: the versions changed as a
   * whole.
   */
  readonly endpoints?: readonly TouchedEndpoint[];
  readonly keyIds: readonly string[];
}

export interface TouchedEndpoint {
  readonly versionId: string;
  readonly revisionId: string;
  readonly endpointId: string;
}
