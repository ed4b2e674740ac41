/** The revisions of one app that get traffic, with their last errors and health checks. */
import { Link } from '@tanstack/react-router';
import { createContext, useContext, type ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { App, RevisionProbe, TreeRevision } from '../../api/schema.ts';
import { healthWords } from '../../text/operation.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel, QuietPanel } from '../../ui/display/panel.tsx';
import { formatMs, formatNumber, formatShare, Time } from '../../ui/display/time.tsx';
import { revisionRows, type RevisionRow } from './revision-rows.ts';
import styles from './health.module.css';

const TREE_MS = 10_000;
const VERSIONS_PER_PAGE = 50;

const AppContext = createContext('');
const { columns } = healthWords;

export function AppHealth({ app }: { readonly app: App }): ReactNode {
  const options = { path: { app_id: app.id }, query: { limit: VERSIONS_PER_PAGE } };
  const tree = usePages('GET /apps/{app_id}/tree', options, { everyMs: TREE_MS });
  return (
    <Loaded query={tree}>
      {({ items, total }) => {
        const { rows, idle } = revisionRows(items);
        if (rows.length === 0 && !tree.hasNextPage) {
          return <QuietPanel title={<AppName app={app} />}>{healthWords.noRevision}</QuietPanel>;
        }
        return (
          <AppContext value={app.slug}>
            <Panel title={<AppName app={app} />} isFlush>
              <DataTable
                caption={healthWords.revisionsOf(app.name)}
                columns={COLUMNS}
                rows={rows}
                keyOf={({ revision }) => revision.id}
                empty={<p className={styles['quiet']}>{healthWords.noRevision}</p>}
                more={{ total, pages: tree }}
              />
              {idle > 0 && <p className={styles['quiet']}>{healthWords.idle(idle)}</p>}
            </Panel>
          </AppContext>
        );
      }}
    </Loaded>
  );
}

function AppName({ app }: { readonly app: App }): ReactNode {
  return (
    <Link to="/apps/$app" params={{ app: app.slug }}>
      {app.name}
    </Link>
  );
}

const TONES: Readonly<Record<'closed' | 'half_open' | 'open' | 'none', Tone>> = {
  closed: 'good',
  half_open: 'warn',
  open: 'bad',
  none: 'neutral',
};

const COLUMNS: readonly Column<RevisionRow>[] = [
  { head: columns.revision, width: '16%', isRowHead: true, cell: (row) => <RevisionName row={row} /> },
  {
    head: columns.state,
    width: '13%',
    cell: ({ revision: { breaker } }) => (
      <Badge tone={TONES[breaker ?? 'none']}>{healthWords.states[breaker ?? 'none']}</Badge>
    ),
  },
  {
    head: columns.share,
    width: '8%',
    isNumber: true,
    cell: ({ revision }) => formatShare(revision.traffic_share),
  },
  { head: columns.backend, width: '23%', cell: ({ revision }) => <Backend revision={revision} /> },
  { head: columns.lastError, width: '23%', cell: ({ revision }) => lastError(revision.health) },
  { head: columns.lastProbe, width: '17%', cell: ({ revision }) => lastProbe(revision.health) },
];

function RevisionName({ row }: { readonly row: RevisionRow }): ReactNode {
  const app = useContext(AppContext);
  return (
    <Link
      to="/apps/$app/versions/$version/revisions/$revision"
      params={{ app, version: row.version, revision: row.revision.revision }}
    >
      {row.version} {row.revision.revision}
    </Link>
  );
}

function Backend({ revision: { backend, targets } }: { readonly revision: TreeRevision }): ReactNode {
  if (targets === null) return <code>{backend}</code>;
  const { total, in_service: count, source } = targets;
  const isFirst = source === null;
  return (
    <div className={styles['error']}>
      <code>{backend}</code>
      <span className={styles['soft']}>
        {count === null
          ? healthWords.targets(total, isFirst)
          : healthWords.targetsInService(count, total, isFirst)}
      </span>
    </div>
  );
}

function lastError(health: TreeRevision['health']): ReactNode {
  const error = health?.last_error;
  if (health === null || error === null || error === undefined)
    return <span className={styles['soft']}>{healthWords.noError}</span>;
  return (
    <div className={styles['error']}>
      <span>{error.detail}</span>
      <span className={styles['soft']}>
        <Time at={error.at} relative="ago" />
        {health.consecutive_failures > 0 &&
          `, ${healthWords.failuresInARow(formatNumber(health.consecutive_failures))}`}
      </span>
    </div>
  );
}

function lastProbe(health: TreeRevision['health']): ReactNode {
  if (health === null) return null;
  const { last_probe: probe, probing } = health;
  if (probe === null) return <span className={styles['soft']}>{healthWords.probing[probing]}</span>;
  return (
    <div className={styles['error']}>
      <span>{probeText(probe)}</span>
      <span className={styles['soft']}>
        <Time at={probe.at} relative="ago" />
      </span>
    </div>
  );
}

function probeText({ ok, status, error, duration_ms: ms }: RevisionProbe): string {
  if (ok) return healthWords.probeOk(status, formatMs(ms));
  return healthWords.probeFailed(error ?? String(status));
}
