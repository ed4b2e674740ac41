/** The keys of one app as a table. */
import { Link } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { App, Token } from '../../api/schema.ts';
import { keysWords } from '../../text/keys.ts';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time, useNow } from '../../ui/display/time.tsx';
import { KEY_TONES, stateOf } from './key-state.ts';
import styles from './keys.module.css';

export type StatusFilter = '' | 'active' | 'revoked' | 'expired';

interface AppKeysProps {
  readonly app: Pick<App, 'slug' | 'name'>;
  readonly query: string;
  readonly status: StatusFilter;
  /** The only app that is shown: it says what to do when it has no key. */
  readonly isAlone: boolean;
  /** Shows nothing when there are no keys, unless it is the only app. */
  readonly onTotal: (slug: string, total: number) => void;
}

const ROWS_ALONE = 50;
const ROWS_OF_MANY = 10;

export function AppKeys({ app, query, status, isAlone, onTotal }: AppKeysProps): ReactNode {
  const pages = usePages(
    'GET /apps/{app_id}/tokens',
    {
      path: { app_id: app.slug },
      query: {
        limit: isAlone ? ROWS_ALONE : ROWS_OF_MANY,
        ...(query !== '' && { q: query }),
        ...(status !== '' && { status }),
      },
    },
    { keepPrevious: true },
  );
  const isFiltered = query !== '' || status !== '';
  const total = pages.data?.total;
  useEffect(() => {
    if (total !== undefined) onTotal(app.slug, total);
  }, [app.slug, total, onTotal]);
  if (!isAlone && total === 0) return null;
  return (
    <Panel title={app.name} isFlush>
      <Loaded query={pages}>
        {({ items, total }) => (
          <DataTable
            caption={`${keysWords.title}: ${app.name}`}
            columns={columnsOf(app.slug)}
            rows={items}
            keyOf={(key) => key.id}
            empty={
              <EmptyState title={isFiltered ? keysWords.noMatchTitle : keysWords.noKeysTitle}>
                {isFiltered ? keysWords.noMatch : keysWords.noKeys}
              </EmptyState>
            }
            more={{ total, pages }}
          />
        )}
      </Loaded>
    </Panel>
  );
}

const columnsOf = (app: string): readonly Column<Token>[] => [
  {
    head: keysWords.columns.name,
    isRowHead: true,
    cell: (key) => (
      <Link to="/apps/$app/keys/$key" params={{ app, key: key.id }}>
        {key.name}
      </Link>
    ),
  },
  {
    head: keysWords.columns.prefix,
    cell: (key) => <code className={styles['prefix']}>{key.token_prefix}</code>,
  },
  { head: keysWords.columns.state, cell: (key) => <StateBadge of={key} /> },
  { head: keysWords.columns.scopes, cell: (key) => <Scopes of={key.scopes} /> },
  { head: keysWords.columns.lastUsed, cell: (key) => <TimeOrNever at={key.last_used_at} relative="ago" /> },
  { head: keysWords.columns.expires, cell: (key) => <TimeOrNever at={key.expires_at} relative="either" /> },
];

export function StateBadge({ of: key }: { readonly of: Pick<Token, 'is_active' | 'expires_at'> }): ReactNode {
  const state = stateOf(key, useNow(true));
  return <Badge tone={KEY_TONES[state]}>{keysWords.states[state]}</Badge>;
}

export function Scopes({ of: scopes }: { readonly of: readonly string[] }): ReactNode {
  if (scopes.length === 0) return <span className={styles['soft']}>{keysWords.noScopes}</span>;
  return (
    <span className={styles['scopes']}>
      {scopes.map((scope) => (
        <Badge key={scope} isLong>
          {scope}
        </Badge>
      ))}
    </span>
  );
}

export function TimeOrNever({
  at,
  relative,
}: {
  readonly at: string | null;
  readonly relative?: 'ago' | 'either';
}): ReactNode {
  if (at === null) return <span className={styles['soft']}>{keysWords.never}</span>;
  return <Time at={at} {...(relative !== undefined && { relative })} />;
}
