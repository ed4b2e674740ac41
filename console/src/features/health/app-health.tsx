/**
 * The revisions of one app that get traffic. Their states come with one call; the last error and health check need one
 * for each revision, which is made by itself for some of them and on request for the others.
 */
import { Link } from '@tanstack/react-router';
import { createContext, useContext, useMemo, useState, type ReactNode } from 'react';
import { usePages, useRead } from '../../api/queries.ts';
import type { App, RevisionHealth, RevisionProbe } from '../../api/schema.ts';
import { healthWords } from '../../text/operation.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { formatMs, formatNumber, formatShare, Time } from '../../ui/display/time.tsx';
import { revisionRows, type RevisionRow } from './revision-rows.ts';
import styles from './health.module.css';

const TREE_MS = 10_000;
const HEALTH_MS = 15_000;
const VERSIONS_PER_PAGE = 50;
/** Of each app; failing ones are among them first. */
const READ_BY_ITSELF_MAX = 10;

const AppContext = createContext('');
const { columns } = healthWords;

export function AppHealth({ app }: { readonly app: App }): ReactNode {
  const options = { path: { app_id: app.id }, query: { limit: VERSIONS_PER_PAGE } };
  const tree = usePages('GET /apps/{app_id}/tree', options, { everyMs: TREE_MS });
  return (
    <Loaded query={tree}>
      {({ items, total }) => {
        const { rows, idle } = revisionRows(items, READ_BY_ITSELF_MAX);
        return (
          <AppContext value={app.slug}>
            <DataTable
              caption={healthWords.revisionsOf(app.name)}
              columns={COLUMNS}
              rows={rows}
              keyOf={({ revision }) => revision.id}
              empty={<p className={styles['quiet']}>{healthWords.noRevision}</p>}
              more={{
                total,
                isLoading: tree.isFetchingNextPage,
                hasMore: tree.hasNextPage,
                load: () => void tree.fetchNextPage(),
              }}
            />
            {idle > 0 && <p className={styles['quiet']}>{healthWords.idle(idle)}</p>}
          </AppContext>
        );
      }}
    </Loaded>
  );
}

const TONES: Readonly<Record<'closed' | 'half_open' | 'open' | 'none', Tone>> = {
  closed: 'good',
  half_open: 'warn',
  open: 'bad',
  none: 'neutral',
};

const COLUMNS: readonly Column<RevisionRow>[] = [
  { head: columns.revision, isRowHead: true, cell: (row) => <RevisionName row={row} /> },
  {
    head: columns.state,
    cell: ({ revision: { breaker } }) => (
      <Badge tone={TONES[breaker ?? 'none']}>{healthWords.states[breaker ?? 'none']}</Badge>
    ),
  },
  { head: columns.share, isNumber: true, cell: ({ revision }) => formatShare(revision.traffic_share) },
  { head: columns.backend, cell: ({ revision }) => <code>{revision.backend}</code> },
  { head: columns.lastError, cell: (row) => <HealthCell row={row} show={lastError} hasButton /> },
  { head: columns.lastProbe, cell: (row) => <HealthCell row={row} show={lastProbe} /> },
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

interface HealthCellProps {
  readonly row: RevisionRow;
  readonly show: (health: RevisionHealth) => ReactNode;
  /** To read the health of a row that is not read by itself. */
  readonly hasButton?: boolean;
}

/** Cells of one row share one call. */
function HealthCell({ row, show, hasButton = false }: HealthCellProps): ReactNode {
  const app = useContext(AppContext);
  const [isAsked, setAsked] = useState(false);
  const { version, revision, isReadByItself } = row;
  const path = useMemo(
    () => ({ app_id: app, version_id: version, revision_id: revision.revision }),
    [app, version, revision.revision],
  );
  const health = useRead(
    'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/health',
    { path },
    { enabled: isReadByItself || isAsked, everyMs: HEALTH_MS },
  );
  if (health.data !== undefined) return show(health.data.body.data);
  if (isReadByItself || isAsked || !hasButton) return null;
  return (
    <Button
      isSmall
      aria-label={healthWords.showHealth(`${version} ${revision.revision}`)}
      onClick={() => setAsked(true)}
    >
      {healthWords.show}
    </Button>
  );
}

function lastError({ last_error: error, consecutive_failures: failures }: RevisionHealth): ReactNode {
  if (error === null) return <span className={styles['soft']}>{healthWords.noError}</span>;
  return (
    <div className={styles['error']}>
      <span>{error.detail}</span>
      <span className={styles['soft']}>
        <Time at={error.at} isRelative />
        {failures > 0 && `, ${columns.failures}: ${formatNumber(failures)}`}
      </span>
    </div>
  );
}

function lastProbe({ last_probe: probe, probing }: RevisionHealth): ReactNode {
  if (probe === null) return <span className={styles['soft']}>{healthWords.probing[probing]}</span>;
  return (
    <div className={styles['error']}>
      <span>{probeText(probe)}</span>
      <span className={styles['soft']}>
        <Time at={probe.at} isRelative />
      </span>
    </div>
  );
}

function probeText({ ok, status, error, duration_ms: ms }: RevisionProbe): string {
  if (ok) return healthWords.probeOk(status, formatMs(ms));
  return healthWords.probeFailed(error ?? String(status));
}
