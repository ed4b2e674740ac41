/** The versions of an app. */
import type { ReactNode } from 'react';
import type { Pages } from '../../../api/queries.ts';
import type { TreeVersion } from '../../../api/schema.ts';
import { appsWords } from '../../../text/apps.ts';
import { DataTable, type Column, type PagedQuery } from '../../../ui/display/data-table.tsx';
import { EmptyState } from '../../../ui/display/notes.tsx';
import { ResourceLink } from './resource-link.tsx';
import { StatusBadge } from './state-badges.tsx';

function columnsOf(app: string): Column<TreeVersion>[] {
  const { columns } = appsWords;
  return [
    {
      head: columns.version,
      isRowHead: true,
      cell: ({ version }) => <ResourceLink path={{ app, version }}>{version}</ResourceLink>,
    },
    { head: columns.path, cell: ({ gateway_path: path }) => <code>{path}</code> },
    { head: columns.status, cell: ({ status }) => <StatusBadge status={status} /> },
    {
      head: columns.revisions,
      isNumber: true,
      cell: ({ revisions_total: total }) => total.toLocaleString('en'),
    },
    { head: columns.endpoints, isNumber: true, cell: ({ endpoints }) => endpoints.toLocaleString('en') },
  ];
}

interface VersionTableProps {
  readonly app: string;
  readonly pages: Pages<TreeVersion>;
  readonly query: PagedQuery;
}

export function VersionTable({ app, pages, query }: VersionTableProps): ReactNode {
  return (
    <DataTable
      caption={appsWords.versionTable}
      rows={pages.items}
      keyOf={({ id }) => id}
      empty={<EmptyState title={appsWords.noVersionsTitle}>{appsWords.noVersions}</EmptyState>}
      columns={columnsOf(app)}
      more={{ total: pages.total, pages: query }}
    />
  );
}
