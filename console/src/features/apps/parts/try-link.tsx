/** To a request that can be explained and sent: of the first version of an app that could answer. */
import type { ReactNode } from 'react';
import { usePages } from '../../../api/queries.ts';
import { appsWords } from '../../../text/apps.ts';
import { ButtonLink } from '../../../ui/controls/button.tsx';

export function TryApp({ app }: { readonly app: string }): ReactNode {
  const versions = usePages('GET /apps/{app_id}/tree', { path: { app_id: app } }, { everyMs: 10_000 });
  const usable = versions.data?.items.find(
    ({ status, revisions_total: revisions }) => status !== 'retired' && revisions > 0,
  );
  return usable !== undefined && <TryLink path={usable.gateway_path} />;
}

/** @param path gateway path of a version */
export function TryLink({ path }: { readonly path: string }): ReactNode {
  const search = { method: 'GET', url: path.endsWith('/') ? path : `${path}/` };
  return (
    <ButtonLink to="/explain" search={search as never}>
      {appsWords.tryRequest}
    </ButtonLink>
  );
}
