/** Admin tokens: created here and shown once, and deleted by name. */
import { useState, type ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { AdminToken } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { accessWords } from '../../text/access.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time, useNow } from '../../ui/display/time.tsx';
import { ConfirmedWrite } from '../save/confirmed-write.tsx';
import { CreateAdminToken } from './create-admin-token.tsx';
import styles from './access.module.css';

export function AdminTokens(): ReactNode {
  const [open, setOpen] = useSearchText('open');
  const tokens = usePages('GET /admin/tokens', { query: { limit: 50 } });
  const [leaving, setLeaving] = useState<AdminToken>();
  return (
    <>
      {open === 'create' && <CreateAdminToken onEnd={() => setOpen('')} />}
      <Panel
        title={accessWords.tokens}
        isFlush
        actions={
          <Button look="main" isSmall onClick={() => setOpen('create')}>
            {accessWords.create}
          </Button>
        }
      >
        <p className={styles['text']}>{accessWords.tokensText}</p>
        <Loaded query={tokens}>
          {({ items, total }) => (
            <DataTable
              caption={accessWords.tokensList}
              rows={items}
              keyOf={(token) => token.id}
              columns={columnsOf(setLeaving)}
              empty={<p className={styles['text']}>{accessWords.noTokens}</p>}
              more={{ total, pages: tokens }}
            />
          )}
        </Loaded>
      </Panel>
      {leaving !== undefined && (
        <ConfirmedWrite
          operation="DELETE /admin/tokens/{admin_token_id}"
          options={{ path: { admin_token_id: leaving.id } }}
          title={accessWords.deleteTitle(leaving.name)}
          name={leaving.name}
          action={words.delete}
          done={accessWords.deleted(leaving.name)}
          onClose={() => setLeaving(undefined)}
        >
          {accessWords.deleteText}
        </ConfirmedWrite>
      )}
    </>
  );
}

function columnsOf(onDelete: (token: AdminToken) => void): readonly Column<AdminToken>[] {
  const { tokenColumns: columns } = accessWords;
  return [
    { head: columns.name, isRowHead: true, cell: ({ name }) => name },
    { head: columns.prefix, cell: (token) => <code>{token.token_prefix}</code> },
    { head: columns.role, cell: ({ role }) => <Badge>{accessWords.roles[role]}</Badge> },
    { head: columns.created, cell: (token) => <Time at={token.created_at} relative="ago" /> },
    {
      head: columns.lastUsed,
      cell: ({ last_used_at: at }) => (at === null ? accessWords.never : <Time at={at} relative="ago" />),
    },
    { head: columns.expires, cell: ({ expires_at: at }) => <Expiry at={at} /> },
    {
      head: columns.actions,
      cell: (token) => (
        <Button
          isSmall
          look="danger"
          aria-label={accessWords.delete(token.name)}
          onClick={() => onDelete(token)}
        >
          {words.delete}
        </Button>
      ),
    },
  ];
}

function Expiry({ at }: { readonly at: string | null }): ReactNode {
  const nowMs = useNow(true);
  if (at === null) return accessWords.never;
  return (
    <>
      <Time at={at} relative="either" />{' '}
      {Date.parse(at) <= nowMs && <Badge tone="warn">{accessWords.expired}</Badge>}
    </>
  );
}
