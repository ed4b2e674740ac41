/** The whole table of errors: the gateway's own and those that policy parts add. */
import { GATEWAY_ERRORS, type ErrorCode, type ErrorRow } from '../model/errors.ts';
import { StatsColumns } from '../observe/stats/stats-columns.ts';
import type { PolicyPart } from './part.ts';
import { PARTS } from './registry.ts';

export const ERRORS: Readonly<Record<string, ErrorRow>> = errorsOf(PARTS);

export function errorsOf(parts: readonly PolicyPart[]): Record<string, ErrorRow> {
  const table: Record<string, ErrorRow> = { ...GATEWAY_ERRORS };
  for (const { errors = [] } of parts) {
    for (const { code, ...row } of errors) table[code] = row;
  }
  return table;
}

/** Every `ErrorCode` has a row: it is one of the gateway's, or `partError` created it for a part of the registry. */
export function errorRow(code: ErrorCode): ErrorRow {
  return ERRORS[code] ?? GATEWAY_ERRORS.internal_error;
}

/** The columns of the gateway's own time series, with one for each row of the table. */
export const STATS_COLUMNS = new StatsColumns(
  Object.entries(ERRORS).map(([code, { source }]) => [code, source === 'downstream']),
);
