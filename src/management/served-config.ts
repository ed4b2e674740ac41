/**
 * The configuration that the workers serve, as the main thread has it in memory: all records, also those without
 * traffic. For reads that would need many rows of the database. A write is in it before its answer is sent.
 */
import type { VersionTree } from '../model/config.ts';
import type { App, StoredApiKey } from '../model/resources.ts';

export interface ServedConfig {
  appIds(): Iterable<string>;
  appOf(id: string): App | undefined;
  versionIdsOf(appId: string): Iterable<string>;
  /** Its arrays never change: a change replaces them. */
  versionTree(id: string): VersionTree | undefined;
  readonly keys: {
    readonly size: number;
    /** All keys, at most `count` at a time; the table may change between two slices. */
    slices(count: number): Iterable<readonly StoredApiKey[]>;
  };
}

/** By id or slug; an id takes precedence over an equal slug. */
export function servedApp(served: ServedConfig, reference: string): App | undefined {
  const byId = served.appOf(reference);
  if (byId !== undefined) return byId;
  for (const id of served.appIds()) {
    const app = served.appOf(id);
    if (app?.slug === reference) return app;
  }
  return undefined;
}

/** The versions of an app, oldest first. */
export function servedVersions(served: ServedConfig, appId: string): VersionTree[] {
  return [...served.versionIdsOf(appId)]
    .toSorted()
    .map((id) => served.versionTree(id))
    .filter((tree) => tree !== undefined);
}
