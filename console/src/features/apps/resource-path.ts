/** The place of a record below the apps, by natural labels, as in the address of its page. Pure. */
import type { Found } from '../../api/schema.ts';

export interface ResourcePath {
  readonly app: string;
  readonly version?: string | undefined;
  readonly revision?: string | undefined;
  /** The id: endpoints have no label that addresses could have. */
  readonly endpoint?: string | undefined;
}

export type Level = 'app' | 'version' | 'revision' | 'endpoint';

export function levelOf({ version, revision, endpoint }: ResourcePath): Level {
  if (endpoint !== undefined) return 'endpoint';
  if (revision !== undefined) return 'revision';
  return version === undefined ? 'app' : 'version';
}

export const PAGES = {
  app: '/apps/$app',
  version: '/apps/$app/versions/$version',
  revision: '/apps/$app/versions/$version/revisions/$revision',
  endpoint: '/apps/$app/versions/$version/revisions/$revision/endpoints/$endpoint',
} as const satisfies Readonly<Record<Level, string>>;

export const OPERATIONS = {
  app: '/apps/{app_id}',
  version: '/apps/{app_id}/versions/{version_id}',
  revision: '/apps/{app_id}/versions/{version_id}/revisions/{revision_id}',
  endpoint: '/apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints/{endpoint_id}',
} as const satisfies Readonly<Record<Level, string>>;

/** Parameters of the path of a call. */
export function apiPath({ app, version, revision, endpoint }: ResourcePath): Record<string, string> {
  return {
    app_id: app,
    ...(version !== undefined && { version_id: version }),
    ...(revision !== undefined && { revision_id: revision }),
    ...(endpoint !== undefined && { endpoint_id: endpoint }),
  };
}

/** The place of a search result, if it is in the tree. Labels have no spaces, so that the path can be split. */
export function pathOfFound(found: Found): ResourcePath | undefined {
  if (found.kind === 'api_key' || found.kind === 'admin_token') return undefined;
  const [app = '', version, revision] = found.path.split(' / ');
  if (found.kind === 'app') return { app };
  if (found.kind === 'version') return { app, version };
  return { app, version, revision, ...(found.kind === 'endpoint' && { endpoint: found.id }) };
}
