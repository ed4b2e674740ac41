/** Names of records for the audit log: ids mean nothing after a record is deleted. */
import type { App, Revision, Version } from '../../model/resources.ts';

/** The labels of the records above one, such as `{"app": "billing", "version": "v1"}`. */
export type ParentNames = Readonly<Record<string, string>>;

interface Parents {
  readonly app?: Pick<App, 'slug'>;
  readonly version?: Pick<Version, 'version'>;
  readonly revision?: Pick<Revision, 'revision'>;
}

/** @param scope of a resource: the records that a path names above the last one */
export function parentNames(scope: object): ParentNames {
  const { app, version, revision } = scope as Parents;
  return {
    ...(app !== undefined && { app: app.slug }),
    ...(version !== undefined && { version: version.version }),
    ...(revision !== undefined && { revision: revision.revision }),
  };
}
