/** The most used apps, routes and keys, and the most frequent reasons, each with its course and a way on. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { StatsRow, StatsTop } from '../../api/schema.ts';
import { overviewWords } from '../../text/overview.ts';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Sparkline } from '../../ui/display/sparkline.tsx';
import { formatMs, formatNumber, formatShare } from '../../ui/display/time.tsx';
import type { WindowName } from './series.ts';
import type { Subject } from './use-traffic.ts';
import styles from './overview.module.css';

type By = 'app' | 'route' | 'reason' | 'key';

const EVERY_MS: Readonly<Record<WindowName, number>> = { '15m': 10_000, '24h': 60_000 };
const ROWS = 10;

/** There are no figures of keys and apps for one app, and no table for a single route. */
export function TopTables({ subject }: { readonly subject: Subject }): ReactNode {
  if (subject.route !== '') return null;
  const shown: readonly By[] = subject.app === '' ? ['app', 'route', 'reason', 'key'] : ['route', 'reason'];
  return (
    <div className={styles['tops']}>
      {shown.map((by) => (
        <TopTable key={by} by={by} subject={subject} />
      ))}
    </div>
  );
}

function TopTable({ by, subject }: { readonly by: By; readonly subject: Subject }): ReactNode {
  const { window, app } = subject;
  const query = { by, window, limit: ROWS, ...(app !== '' && { app }) };
  const top = useRead('GET /stats/top', { query }, { everyMs: EVERY_MS[window], keepPrevious: true });
  return (
    <Panel title={overviewWords.top[by]} isFlush>
      <Loaded query={top}>{({ body }) => <TopRows by={by} top={body.data} window={window} />}</Loaded>
    </Panel>
  );
}

interface TopRowsProps {
  readonly by: By;
  readonly top: StatsTop;
  readonly window: WindowName;
}

function TopRows({ by, top, window }: TopRowsProps): ReactNode {
  const title = overviewWords.top[by];
  if (top.rows.length === 0) {
    return (
      <div className={styles['quiet']}>
        <p>{overviewWords.topEmpty[by]}</p>
      </div>
    );
  }
  return (
    <>
      <DataTable
        caption={title}
        columns={columnsOf(by, window)}
        rows={top.rows}
        isSlim={by === 'reason'}
        keyOf={(row) => nameOf(by, row)}
        empty={<EmptyState title={title}>{overviewWords.topEmpty[by]}</EmptyState>}
      />
      {by !== 'reason' && top.other_requests > 0 && (
        <p className={styles['rest']}>{overviewWords.other[by](formatNumber(top.other_requests))}</p>
      )}
    </>
  );
}

function columnsOf(by: By, window: WindowName): Column<StatsRow>[] {
  const { columns } = overviewWords;
  const name: Column<StatsRow> = {
    head: columns[by],
    isRowHead: true,
    cell: (row) => <RowName by={by} row={row} window={window} />,
  };
  const trend: Column<StatsRow> = {
    head: columns.trend,
    cell: (row) => (
      <Sparkline
        values={row.sparkline}
        label={overviewWords.trendOf(nameOf(by, row), formatNumber(row.requests))}
      />
    ),
  };
  const requests: Column<StatsRow> = {
    head: by === 'reason' ? columns.count : columns.requests,
    isNumber: true,
    cell: (row) => formatNumber(row.requests),
  };
  if (by === 'reason') return [name, trend, requests];
  return [
    name,
    trend,
    requests,
    {
      head: columns.errors,
      isNumber: true,
      cell: ({ error_share: share }) => (share === null ? overviewWords.noFigure : formatShare(share)),
    },
    { head: columns.denied, isNumber: true, cell: (row) => formatNumber(row.denied) },
    {
      head: columns.p95,
      isNumber: true,
      cell: ({ p95_ms: ms }) => (ms === null ? overviewWords.noFigure : formatMs(ms)),
    },
  ];
}

function nameOf(by: By, row: StatsRow): string {
  if (by === 'app') return row.app ?? '';
  if (by === 'key') return row.key ?? row.key_id ?? '';
  if (by === 'reason') return row.reason ?? '';
  return `${row.route} ${row.app} ${row.version}`;
}

interface RowNameProps {
  readonly by: By;
  readonly row: StatsRow;
  readonly window: WindowName;
}

function RowName({ by, row, window }: RowNameProps): ReactNode {
  const name = nameOf(by, row);
  if (by === 'reason') {
    return (
      <Link to="/live" search={{ reason: name } as never} aria-label={overviewWords.watchLive(name)}>
        <code>{name}</code>
      </Link>
    );
  }
  if (by === 'key') {
    return (
      <Link to="/keys" search={{ q: name } as never}>
        {name}
      </Link>
    );
  }
  const { app, version, route } = row;
  const time = window === '15m' ? {} : { window };
  const search = by === 'app' ? { app } : { app, version, route };
  return (
    <Link to="/" search={{ ...time, ...search } as never} aria-label={overviewWords.showOnly(name)}>
      {by === 'app' ? name : <RouteName row={row} />}
    </Link>
  );
}

function RouteName({ row: { app, version, route } }: { readonly row: StatsRow }): ReactNode {
  return (
    <>
      <code>{route}</code>
      <span className={styles['soft']}>
        {' '}
        {app} {version}
      </span>
    </>
  );
}
