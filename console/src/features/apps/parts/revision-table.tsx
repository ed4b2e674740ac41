/** The revisions of a version, and their shares of the traffic. */
import type { ReactNode } from 'react';
import type { Revision } from '../../../api/schema.ts';
import { useMay } from '../../../page/session.ts';
import { appsWords } from '../../../text/apps.ts';
import { Badge } from '../../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../../ui/display/data-table.tsx';
import { EmptyState } from '../../../ui/display/notes.tsx';
import { formatShare } from '../../../ui/display/time.tsx';
import type { ResourcePath } from '../resource-path.ts';
import { ActivateButton } from '../traffic/activate-buttons.tsx';
import { ResourceLink } from './resource-link.tsx';
import { backendText } from './state-badges.tsx';

interface RevisionTableProps {
  /** The path of the version. */
  readonly path: ResourcePath;
  readonly revisions: readonly Revision[];
}

function columnsOf(
  path: ResourcePath,
  revisions: readonly Revision[],
  hasActions: boolean,
): Column<Revision>[] {
  const { columns } = appsWords;
  const actions: Column<Revision> = {
    head: columns.actions,
    cell: ({ revision }) => <ActivateButton path={path} revisions={revisions} revision={revision} isSmall />,
  };
  const total = revisions.reduce((sum, one) => sum + (one.is_current ? one.traffic_weight : 0), 0);
  return [
    {
      head: columns.revision,
      isRowHead: true,
      cell: ({ revision }) => <ResourceLink path={{ ...path, revision }}>{revision}</ResourceLink>,
    },
    { head: columns.backend, cell: (revision) => <code>{backendText(revision)}</code> },
    {
      head: columns.share,
      cell: ({ is_current: isCurrent, traffic_weight: weight }) =>
        isCurrent ? (
          <Badge tone="good">{formatShare(total === 0 ? 0 : weight / total)}</Badge>
        ) : (
          <Badge>{appsWords.noTraffic}</Badge>
        ),
    },
    ...(hasActions ? [actions] : []),
  ];
}

export function RevisionTable({ path, revisions }: RevisionTableProps): ReactNode {
  const mayEdit = useMay('editor');
  const isAlone = revisions.length === 1 && revisions[0]?.is_current === true;
  return (
    <DataTable
      caption={appsWords.revisionTable}
      rows={revisions}
      keyOf={({ id }) => id}
      empty={<EmptyState title={appsWords.noRevisionsTitle}>{appsWords.noRevisions}</EmptyState>}
      columns={columnsOf(path, revisions, mayEdit && !isAlone)}
    />
  );
}
