/** The rows of a shadow report: by route and part, with callers and the last request that would have been denied. */
import type { ReactNode } from 'react';
import type { ShadowCaller, ShadowReport, ShadowRow, StatsTop } from '../../api/schema.ts';
import { shadowWords } from '../../text/shadow.ts';
import { Button } from '../../ui/controls/button.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { formatNumber, Time } from '../../ui/display/time.tsx';
import { requestsOfRoute } from './denominators.ts';
import { partTitle } from './parts.tsx';
import styles from './shadow.module.css';

interface ReportRowsProps {
  readonly report: ShadowReport;
  readonly top: StatsTop | undefined;
  readonly onEnforce: ((row: ShadowRow) => void) | undefined;
}

export function ReportRows({ report, top, onEnforce }: ReportRowsProps): ReactNode {
  const rows = report.rows.map((row): Listed => ({
    row,
    requests: top === undefined ? null : requestsOfRoute(top, report.from, row),
    onEnforce,
  }));
  const leftOut = report.rows_total - rows.length;
  return (
    <>
      <DataTable
        caption={shadowWords.byTable}
        columns={onEnforce === undefined ? COLUMNS : [...COLUMNS, ENFORCE]}
        rows={rows}
        keyOf={({ row }) => [row.part, row.revision_id, row.endpoint_id, row.route].join(' ')}
      />
      {leftOut > 0 && <p className={styles['more']}>{shadowWords.rowsLeftOut(leftOut)}</p>}
    </>
  );
}

interface Listed {
  readonly row: ShadowRow;
  /** All requests of the route; null when they are not known. */
  readonly requests: number | null;
  readonly onEnforce: ((row: ShadowRow) => void) | undefined;
}

const COLUMNS: readonly Column<Listed>[] = [
  { head: shadowWords.route, isRowHead: true, cell: ({ row }) => <Route row={row} /> },
  { head: shadowWords.part, cell: ({ row }) => partTitle(row.part) },
  { head: shadowWords.shadowDenials, isNumber: true, cell: countText },
  { head: shadowWords.callers, cell: ({ row }) => <Callers row={row} /> },
  { head: shadowWords.last, cell: ({ row }) => <Last row={row} /> },
];

const ENFORCE: Column<Listed> = {
  head: shadowWords.enforce,
  cell: ({ row, onEnforce }) => (
    <Button isSmall onClick={() => onEnforce?.(row)}>
      {shadowWords.enforce}
    </Button>
  ),
};

function countText({ row: { total }, requests }: Listed): string {
  return requests === null
    ? formatNumber(total)
    : shadowWords.ofTotal(formatNumber(total), formatNumber(requests));
}

function Route({
  row: { version, revision, method, route, endpoint_id: endpoint },
}: {
  readonly row: ShadowRow;
}): ReactNode {
  return (
    <>
      <code>{route === null ? shadowWords.furtherRoutes : `${method ?? ''} ${route}`.trim()}</code>
      <div className={styles['soft']}>
        {[version, revision].filter((name) => name !== null).join(', ')}
        {endpoint === null && route !== null && ` · ${shadowWords.noEndpoint}`}
      </div>
    </>
  );
}

function Callers({ row: { keys, other_keys: others } }: { readonly row: ShadowRow }): ReactNode {
  return (
    <ul className={styles['callers']}>
      {keys.map((caller) => (
        <li key={caller.kind + caller.id}>
          {callerName(caller)}: {formatNumber(caller.total)}
        </li>
      ))}
      {others > 0 && <li>{shadowWords.others(formatNumber(others))}</li>}
    </ul>
  );
}

function callerName({ kind, name, id }: ShadowCaller): string {
  if (kind === 'anonymous') return shadowWords.anonymous;
  return name === '' ? id : name;
}

function Last({ row: { last } }: { readonly row: ShadowRow }): ReactNode {
  return (
    <>
      <Time at={last.at} relative="ago" /> <code>{last.code}</code>
      <div className={styles['soft']}>{last.detail}</div>
    </>
  );
}
