/** A link to a request that can be explained and sent: to the first endpoint of an app, or of one version of it. */
import type { ReactNode } from 'react';
import { usePages, useRead } from '../../../api/queries.ts';
import type { TreeVersion } from '../../../api/schema.ts';
import { appsWords } from '../../../text/apps.ts';
import { ButtonLink } from '../../../ui/controls/button.tsx';

interface TryLinkProps {
  /** Id or slug. */
  readonly app: string;
  /** Label; undefined: the first that could answer. */
  readonly version?: string;
}

/** Shows nothing when no version could answer. */
export function TryLink({ app, version: label }: TryLinkProps): ReactNode {
  const versions = usePages('GET /apps/{app_id}/tree', { path: { app_id: app } }, { everyMs: 10_000 });
  const version = versions.data?.items.find(
    (one) =>
      (label === undefined ? one.status !== 'retired' : one.version === label) && one.revisions_total > 0,
  );
  return version !== undefined && <ToVersion app={app} version={version} />;
}

function ToVersion({ app, version }: { readonly app: string; readonly version: TreeVersion }): ReactNode {
  const revision = version.revisions.find((one) => one.is_current && one.endpoints > 0);
  const endpoints = useRead(
    'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints',
    {
      path: { app_id: app, version_id: version.id, revision_id: revision?.id ?? '' },
      query: { limit: 1 },
    },
    { enabled: revision !== undefined },
  );
  const [first] = endpoints.data?.body.data ?? [];
  const method = first === undefined || first.method === '*' ? 'GET' : first.method;
  const search = { method, url: `${version.gateway_path.replace(/\/$/, '')}${first?.path ?? '/'}` };
  return (
    <ButtonLink to="/explain" search={search as never}>
      {appsWords.tryRequest}
    </ButtonLink>
  );
}
