/** The endpoints of a revision as a list that is read as far as it is visible, and again after each write. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useReducer } from 'react';
import { call } from '../../../api/call.ts';
import type { Endpoint } from '../../../api/schema.ts';
import type { ResourcePath } from '../resource-path.ts';
import { PagedList } from './paged-list.ts';
import { orderOf, pageOf } from './tree-store.ts';

const PAGE = 500;

/** @param text searched for in method and path; empty: all */
export function useEndpoints(where: ResourcePath, text: string): PagedList<Endpoint> {
  const { app, version = '', revision = '' } = where;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const mark = useWriteMark();
  const list = useMemo(
    () => endpointList({ app, version, revision, text, mark }, redraw),
    [app, version, revision, text, mark],
  );
  useEffect(() => {
    list.ensure(0);
    return () => list.ensure(-1);
  }, [list]);
  return list;
}

interface Listed {
  readonly app: string;
  readonly version: string;
  readonly revision: string;
  readonly text: string;
  /** Changes with each write, and then the list is a new one. */
  readonly mark: number | undefined;
}

function endpointList({ app, version, revision, text }: Listed, onChange: () => void): PagedList<Endpoint> {
  const path = { app_id: app, version_id: version, revision_id: revision };
  return new PagedList(
    async (cursor, fromEnd) => {
      const { body } = await call(
        'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints',
        { path, query: { limit: PAGE, cursor, q: text, order: orderOf(fromEnd) } },
      );
      return pageOf(body);
    },
    0,
    onChange,
    true,
  );
}

/** Another value after each write: writes invalidate all queries, this one too. */
export function useWriteMark(): number | undefined {
  const { data } = useQuery({
    queryKey: ['mark of writes'],
    queryFn: () => performance.now(),
    staleTime: Infinity,
    gcTime: 0,
  });
  return data;
}
