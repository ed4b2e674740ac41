/** Entries of the audit log as a table, newest first, each with its details. */
import type { ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { AuditEntry } from '../../api/schema.ts';
import { useActorNames, type ActorNames } from '../../page/actor-names.ts';
import { useSearchText } from '../../page/search-text.ts';
import { auditWords } from '../../text/audit.ts';
import { Button } from '../../ui/controls/button.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import type { AuditQuery } from './audit-query.ts';
import { EntryDetails } from './entry-details.tsx';
import { actionSentence, VersionLink } from './entry-parts.tsx';
import styles from './audit.module.css';

export function Entries({ query }: { readonly query: AuditQuery }): ReactNode {
  const entries = usePages('GET /audit', { query }, { keepPrevious: true });
  const names = useActorNames();
  const [openId, setOpenId] = useSearchText('open');
  const open = entries.data?.items.find(({ id }) => id === openId);
  return (
    <Panel isFlush>
      <Loaded query={entries}>
        {({ items, total }) => (
          <DataTable
            caption={auditWords.title}
            rows={items}
            keyOf={(entry) => entry.id}
            columns={columnsOf(names, ({ id }) => setOpenId(id))}
            empty={<EmptyState title={auditWords.emptyTitle}>{auditWords.empty}</EmptyState>}
            more={{ total, pages: entries }}
          />
        )}
      </Loaded>
      {open !== undefined && <EntryDetails entry={open} names={names} onClose={() => setOpenId('')} />}
    </Panel>
  );
}

function columnsOf(names: ActorNames, onOpen: (entry: AuditEntry) => void): readonly Column<AuditEntry>[] {
  const { columns } = auditWords;
  return [
    { head: columns.at, cell: ({ at }) => <Time at={at} /> },
    {
      head: columns.actor,
      cell: ({ actor }) => <div className={styles['who']}>{names.nameOf(actor) ?? actor}</div>,
    },
    {
      head: columns.action,
      isRowHead: true,
      cell: (entry) => <div className={styles['sentence']}>{actionSentence(entry)}</div>,
    },
    { head: columns.address, cell: ({ address }) => address !== null && <code>{address}</code> },
    { head: columns.version, isNumber: true, cell: (entry) => <VersionLink of={entry} /> },
    {
      head: columns.details,
      cell: (entry) => (
        <Button
          isSmall
          aria-label={auditWords.detailsOf(actionSentence(entry))}
          onClick={() => onOpen(entry)}
        >
          {auditWords.details}
        </Button>
      ),
    },
  ];
}
