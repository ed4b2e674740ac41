/**
 * Shadow mode: for each app what parts of policies that are not in force would have denied, and how to enforce them.
 */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePages, useRead } from '../../api/queries.ts';
import type { App } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { shadowWords } from '../../text/shadow.ts';
import { words } from '../../text/words.ts';
import { TextField } from '../../ui/controls/field.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { formatNumber } from '../../ui/display/time.tsx';
import { Parts, partTitle } from './parts.tsx';
import { ShadowReportView } from './shadow-report.tsx';
import styles from './shadow.module.css';

const APPS_PER_PAGE = 20;

export function ShadowPage(): ReactNode {
  const [app] = useSearchText('app');
  return (
    <>
      <PageHead
        title={app === '' ? shadowWords.title : shadowWords.titleOf(app)}
        trail={app === '' ? undefined : <Link to="/shadow">{shadowWords.title}</Link>}
        summary={shadowWords.summary}
      />
      {app === '' ? <Apps /> : <ShadowReportView key={app} app={app} />}
    </>
  );
}

function Apps(): ReactNode {
  const [search, setSearch] = useSearchText('q');
  const query = usePages(
    'GET /apps',
    { query: { limit: APPS_PER_PAGE, q: search === '' ? undefined : search } },
    { keepPrevious: true },
  );
  return (
    <Stack>
      <div className={styles['search']}>
        <TextField label={words.search} type="search" value={search} onValue={setSearch} />
      </div>
      <Panel title={shadowWords.apps} isFlush>
        <Loaded query={query}>
          {({ items, total }) => (
            <DataTable
              caption={shadowWords.appsTable}
              columns={APPS}
              rows={items}
              keyOf={({ id }) => id}
              empty={
                <EmptyState title={search === '' ? shadowWords.noApps : shadowWords.noneFound}>
                  <p>{search === '' ? shadowWords.empty : shadowWords.noneFoundDetail}</p>
                </EmptyState>
              }
              more={{ total, pages: query }}
            />
          )}
        </Loaded>
      </Panel>
    </Stack>
  );
}

const APPS: readonly Column<App>[] = [
  {
    head: shadowWords.app,
    isRowHead: true,
    cell: ({ slug }) => (
      <Link to="/shadow" search={{ app: slug }}>
        {slug}
      </Link>
    ),
  },
  {
    head: shadowWords.inShadow,
    cell: ({ default_policy: policy }) => <Parts parts={policy?.shadow ?? []} />,
  },
  { head: shadowWords.shadowDenialsBelow, cell: ({ slug }) => <Total app={slug} /> },
];

/** Asked for each app that is listed. */
function Total({ app }: { readonly app: string }): ReactNode {
  const { data } = useRead('GET /apps/{app_id}/shadow-report', {
    path: { app_id: app },
    query: { limit: 1, keys: 0 },
  });
  if (data === undefined) return <span className={styles['soft']}>{shadowWords.counting}</span>;
  const parts = Object.entries(data.body.data.by_part);
  if (parts.length === 0) return <span className={styles['soft']}>{shadowWords.nothing}</span>;
  return parts.map(([part, count]) => `${partTitle(part)}: ${formatNumber(count)}`).join(', ');
}
