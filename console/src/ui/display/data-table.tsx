/**
 * A table of records: rows by column, with more rows on request. In a narrow place each row is a card with the names of
 * its columns; between, it scrolls sideways.
 */
import type { ReactNode } from 'react';
import { words } from '../../text/words.ts';
import { Button } from '../controls/button.tsx';
import styles from './data-table.module.css';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers are right-aligned, with digits of equal width. */
  readonly isNumber?: boolean;
  /** The first column of a row that names it, for screen readers. */
  readonly isRowHead?: boolean;
  /** A CSS width; when all columns have one, similar tables of a page are aligned. */
  readonly width?: string;
}

/** The number of columns that fit on the narrowest screen. */
const COLUMNS_ALWAYS = 2;

/** A list that is read page by page. */
export interface PagedQuery {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

interface DataTableProps<Row> {
  /** A description of the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Whether all columns fit on the narrowest screen. */
  readonly isSlim?: boolean;
  readonly empty?: ReactNode;
  readonly more?: {
    readonly total: number;
    readonly pages: PagedQuery;
  };
}

export function DataTable<Row>({
  caption,
  columns,
  rows,
  keyOf,
  isSlim = columns.length <= COLUMNS_ALWAYS,
  empty,
  more,
}: DataTableProps<Row>): ReactNode {
  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    <div className={styles['frame']}>
      <div className={styles['scroll']} tabIndex={0} role="group" aria-label={caption}>
        <table
          className={styles['table']}
          data-cards={!isSlim || undefined}
          data-fixed={columns.every(({ width }) => width !== undefined) || undefined}
        >
          <caption className="visually-hidden">{caption}</caption>
          <colgroup>
            {columns.map(({ head, width }) => (
              <col key={head} style={{ width }} />
            ))}
          </colgroup>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.head} scope="col" data-number={column.isNumber || undefined}>
                  {column.head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)}>{columns.map((column) => cellOf(column, row))}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {more?.pages.hasNextPage === true && (
        <div className={styles['more']}>
          <Button isBusy={more.pages.isFetchingNextPage} onClick={() => more.pages.fetchNextPage()}>
            {words.loadMore}
          </Button>
          <span>{words.shownOf(rows.length, more.total)}</span>
        </div>
      )}
    </div>
  );
}

function cellOf<Row>(column: Column<Row>, row: Row): ReactNode {
  if (column.isRowHead === true) {
    return (
      <th key={column.head} scope="row">
        {column.cell(row)}
      </th>
    );
  }
  return (
    <td key={column.head} data-number={column.isNumber || undefined} data-head={column.head}>
      <div className={styles['cell']}>{column.cell(row)}</div>
    </td>
  );
}
