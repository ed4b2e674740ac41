/**
 * The configuration as it travels from the main thread to the workers: plain data that survives a structured
 * clone. The whole of it at start, afterwards only what a write has touched, down to one version's subtree or
 * one key, so that a write costs what it changes and not what is configured.
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
 * A state of the configuration. Its version alone does not say which: a database that was put back to an earlier
 * state, such as by a failover that lost the last writes, comes to the same versions again by other changes.
 */
export interface ConfigPosition {
  readonly configVersion: number;
  /** Of the change that led to it; undefined when that is not known any more. */
  readonly changeId: string | undefined;
}

/** Steps from config version `configVersion - 1` (or from nothing, when `reset`) to `configVersion`. */
export interface ConfigChange {
  readonly configVersion: number;
  /** See `ConfigPosition`. */
  readonly changeId?: string | undefined;
  /** Where it leads on from, when it is of several writes; absent: `configVersion - 1`. Without a meaning for `reset`. */
  readonly after?: ConfigPosition;
  /** True for the first message to a worker: forget everything before applying. */
  readonly reset: boolean;
  /** Apps to put in place of what is there under the same id, with all that is below them. */
  readonly apps: readonly AppTree[];
  readonly removedAppIds: readonly string[];
  /** Versions to put in place, of apps that are already there or come with the same change. */
  readonly versions: readonly VersionTree[];
  readonly removedVersionIds: readonly string[];
  /** Single endpoints of versions that are there and not among `versions`. */
  readonly endpoints?: readonly EndpointChange[];
  readonly keys: readonly StoredApiKey[];
  readonly removedKeyIds: readonly string[];
}

/** An endpoint to put in place of the one with the same id, to add, or (undefined) to take away. */
export interface EndpointChange {
  readonly versionId: string;
  /** Unchanged; its policy is what that of the endpoint overrides. */
  readonly revision: Revision;
  readonly endpointId: string;
  readonly endpoint: Endpoint | undefined;
}

/** What a write has touched, by id; the publisher loads the rest. */
export interface ChangeSet {
  /** Apps created, deleted or changed in a way that concerns everything below them. */
  readonly appIds: readonly string[];
  /** Versions whose subtree changed (or that were created or deleted). */
  readonly versionIds: readonly string[];
  /** The only ones that changed in their versions, which are among `versionIds`; absent: the versions changed as a whole. */
  readonly endpoints?: readonly TouchedEndpoint[];
  readonly keyIds: readonly string[];
}

export interface TouchedEndpoint {
  readonly versionId: string;
  readonly revisionId: string;
  readonly endpointId: string;
}
