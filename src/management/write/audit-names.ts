/** Names of records for the audit log: ids mean nothing after a record is deleted. */
import type { App, Revision, StoredApiKey, Version } from '../../model/resources.ts';
import type { ConfigReader } from '../../storage/repository.ts';

/** The labels of the records above one, such as `{"app": "billing", "version": "v1"}`. */
export type ParentNames = Readonly<Record<string, string>>;

interface Parents {
  readonly app?: Pick<App, 'slug'>;
  readonly version?: Pick<Version, 'version'>;
  readonly revision?: Pick<Revision, 'revision'>;
}

/** @param scope scope of a resource: the records that a path names above the last one */
export function parentNames(scope: object): ParentNames {
  const { app, version, revision } = scope as Parents;
  return {
    ...(app !== undefined && { app: app.slug }),
    ...(version !== undefined && { version: version.version }),
    ...(revision !== undefined && { revision: revision.revision }),
  };
}

/** A key that goes with its app. */
export type CascadedKey = Pick<StoredApiKey, 'id' | 'name'>;

/** Keys that one audit entry names. */
export const KEYS_NAMED_MAX = 500;

/** The first keys of an app that will be deleted. */
export async function cascadedKeys(reader: ConfigReader, appId: string): Promise<readonly CascadedKey[]> {
  const { items } = await reader.listKeys(appId, { limit: KEYS_NAMED_MAX, after: undefined });
  return items.map(({ id, name }) => ({ id, name }));
}
