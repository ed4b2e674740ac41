/** Recent traffic of apps, versions and endpoints, for the rows of the tree; only of the most used ones. */
import { useMemo } from 'react';
import { useRead } from '../../../api/queries.ts';
import type { StatsRow } from '../../../api/schema.ts';
import type { TreeRow } from './tree-store.ts';

const EVERY_MS = 10_000;
/** The API gives no more. */
const ROWS_MAX = 100;

export type TrafficOf = (row: TreeRow) => StatsRow | undefined;

export function useTrafficLines(): TrafficOf {
  const window = '15m';
  const often = { everyMs: EVERY_MS };
  const apps = useRead('GET /stats/top', { query: { by: 'app', window, limit: ROWS_MAX } }, often);
  const versions = useRead('GET /stats/top', { query: { by: 'version', window, limit: ROWS_MAX } }, often);
  const routes = useRead('GET /stats/top', { query: { by: 'route', window, limit: ROWS_MAX } }, often);
  const answers = [apps.data, versions.data, routes.data];
  const rows = answers.flatMap((answer) => answer?.body.data.rows ?? []);
  const lines = useMemo(() => new Map(rows.map((row) => [placeOf(row), row])), [rows]);
  return (row) => lines.get(rowPlace(row));
}

/** By id: labels may change within the time that is shown. */
function placeOf({ app_id: appId, version_id: versionId, route }: StatsRow): string {
  return route === null ? (versionId ?? appId ?? '') : `${versionId} ${route}`;
}

function rowPlace(row: TreeRow): string {
  if (row.kind === 'app') return row.app.id;
  if (row.kind === 'version') return row.version.id;
  return row.kind === 'endpoint' ? row.route : '';
}
