/**
 * `GET /api/v1/stats` and `GET /api/v1/stats/top`: the time series of all gateways with the same database. Those
 * that do not answer in time are named as missing.
 */
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { timestamp } from '../../lib/clock.ts';
import { REQUESTS } from '../../observe/stats/stats-columns.ts';
import { routeKey, type PlaceKind } from '../../observe/stats/stats-history.ts';
import {
  addedFindings,
  busiest,
  totalOf,
  type StatsFindings,
  type StatsQuestion,
} from '../../observe/stats/stats-question.ts';
import {
  WINDOWS,
  type StatsGrid,
  type StatsSubject,
  type WindowName,
} from '../../observe/stats/stats-window.ts';
import { STATS_COLUMNS } from '../../policy/error-table.ts';
import type { ManagementContext } from '../context.ts';
import { Admission } from '../api/admission.ts';
import { answer, fail, isFailure, type Failure } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { queryTime, type Query } from '../api/query.ts';
import { findAppScope } from '../routes/resources/apps.ts';
import { findVersionScope } from '../routes/resources/versions.ts';
import { STATS_EXAMPLE, STATS_TOP_EXAMPLE } from './stats-examples.ts';
import {
  SPARK_STEPS,
  StatsQuerySchema,
  StatsSchema,
  StatsTopQuerySchema,
  StatsTopSchema,
  TOP_LIMIT_DEFAULT,
} from './stats-schema.ts';
import { reasonRows, rowView, seriesView, windowView } from './stats-view.ts';
import type { SharedReplies, StatsAccess } from './stats-access.ts';

/** Limit of answers at once: each may read the series of a whole day. */
const AT_ONCE = 8;
/** Limit of the most used places in an answer. */
const NODE_ROWS_MAX = 500;

export function statsOperations(context: ManagementContext): Operation[] {
  const admission = new Admission(AT_ONCE);
  return [readStats(context, admission), readTop(context, admission)];
}

function readStats(context: ManagementContext, admission: Admission): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/stats`,
    operationId: 'getStats',
    tag: 'Traffic',
    summary: 'Traffic over time',
    description:
      'The sums of all gateways with the same database, each counted since its start. This gateway waits at most half a second for the others; `nodes` says whose traffic the answer contains. The answers of other gateways are reused for a second. Percentiles are computed from histograms whose buckets are at most 12.5 % wide, so their error is smaller than that.',
    access: 'viewer',
    admission,
    query: jsonSchema(StatsQuerySchema),
    entityTag: false,
    success: {
      status: 200,
      description: 'A list for each value',
      schema: jsonSchema(envelopeSchema('StatsEnvelope', StatsSchema)),
      example: { status: 200, message: 'Traffic over time', data: STATS_EXAMPLE },
    },
    failures: ['not_found'],
    handle: async ({ query }) => {
      const subject = await subjectOf(context, query);
      if (isFailure(subject)) return subject;
      const { stats } = context.status;
      const window = windowOf(query);
      const stepSecs = stepOf(query, window);
      if (typeof stepSecs === 'object') return stepSecs;
      const sinceSecs = sinceOf(query);
      if (typeof sinceSecs === 'object') return sinceSecs;
      if (stats === undefined) {
        return answer(200, 'Statistics are off', { ...offView(context, window, stepSecs), ...noSeries() });
      }
      const asking = stats.grid(window, stepSecs, sinceSecs);
      const { grid, toSecs, replies, found } = await asked(stats, { grid: asking, subject });
      return answer(200, 'Traffic over time', {
        ...windowView(grid, toSecs, replies),
        ...seriesView(STATS_COLUMNS, grid, found, subject.kind === 'gateway'),
      });
    },
  };
}

function readTop(context: ManagementContext, admission: Admission): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/stats/top`,
    operationId: 'getStatsTop',
    tag: 'Traffic',
    summary: 'Most used apps, versions, routes and keys, and most frequent reasons',
    description: `Covers the traffic of all gateways with the same database, as \`GET /api/v1/stats\` does, but only the ${NODE_ROWS_MAX} most used rows of each gateway.`,
    access: 'viewer',
    admission,
    query: jsonSchema(StatsTopQuerySchema),
    entityTag: false,
    success: {
      status: 200,
      description: 'Rows, ordered by their number of requests, highest first',
      schema: jsonSchema(envelopeSchema('StatsTopEnvelope', StatsTopSchema)),
      example: { status: 200, message: 'Most used', data: STATS_TOP_EXAMPLE },
    },
    failures: ['not_found'],
    handle: async ({ query }) => {
      const by = query['by'];
      if (by === undefined) return fail('invalid_query', 'The query parameter "by" is required');
      if (query['app'] !== undefined && (by === 'app' || by === 'key')) {
        return fail('invalid_query', `The query parameter "app" cannot be used with by=${by}`);
      }
      const subject = await subjectOf(context, query);
      if (isFailure(subject)) return subject;
      const { stats } = context.status;
      const window = windowOf(query);
      const stepSecs = WINDOWS[window].secs / SPARK_STEPS;
      if (stats === undefined) {
        const view = { ...offView(context, window, stepSecs), ...topView(by, [], 0, 0, 0) };
        return answer(200, 'Statistics are off', view);
      }
      const asking = stats.grid(window, stepSecs);
      const kind = by === 'reason' ? undefined : (by as PlaceKind);
      const rows = kind === undefined ? {} : { rows: { kind, max: NODE_ROWS_MAX } };
      const { grid, toSecs, replies, found } = await asked(stats, { grid: asking, subject, ...rows });
      const limit = Number(query['limit'] ?? TOP_LIMIT_DEFAULT);
      const all =
        kind === undefined
          ? reasonRows(STATS_COLUMNS, grid, found)
          : busiest(found.rows, found.rows.length).map((row) => rowView(grid, row));
      const shown = all.slice(0, limit);
      const requests = totalOf(found.steps, STATS_COLUMNS.length)[REQUESTS] ?? 0;
      const inRows = shown.reduce((sum, row) => sum + Number(row['requests']), 0);
      return answer(200, 'Most used', {
        ...windowView(grid, toSecs, replies),
        ...topView(by, shown, all.length, Math.max(0, requests - inRows), requests),
      });
    },
  };
}

async function asked(
  stats: StatsAccess,
  question: StatsQuestion,
): Promise<SharedReplies & { readonly found: StatsFindings }> {
  const shared = await stats.ask(question);
  const all = shared.replies.flatMap(({ findings }) => (findings === undefined ? [] : [findings]));
  return { ...shared, found: addedFindings(all, shared.grid) };
}

async function subjectOf(context: ManagementContext, query: Query): Promise<StatsSubject | Failure> {
  const { app, version, route } = query;
  if (version !== undefined && app === undefined) {
    return fail('invalid_query', 'The query parameter "version" needs "app"');
  }
  if (route !== undefined && version === undefined) {
    return fail('invalid_query', 'The query parameter "route" needs "app" and "version"');
  }
  if (app === undefined) return { kind: 'gateway' };
  const params = { app_id: String(app), version_id: String(version) };
  return context.repository.read(async (reader): Promise<StatsSubject | Failure> => {
    if (version === undefined) {
      const scope = await findAppScope(reader, params);
      return isFailure(scope) ? scope : { kind: 'app', key: scope.app.id };
    }
    const scope = await findVersionScope(reader, params);
    if (isFailure(scope)) return scope;
    const { id } = scope.version;
    if (route === undefined) return { kind: 'version', key: id };
    return { kind: 'route', key: routeKey(id, String(route)) };
  });
}

function windowOf({ window }: Query): WindowName {
  return window === '24h' ? '24h' : '15m';
}

function stepOf({ step }: Query, window: WindowName): number | Failure {
  const { secs, unitSecs } = WINDOWS[window];
  const stepSecs = step === undefined ? unitSecs : Number(step);
  if (stepSecs % unitSecs === 0 && stepSecs <= secs) return stepSecs;
  const expected =
    unitSecs === 1 ? `be at most ${secs} with window=15m` : `be a multiple of ${unitSecs} with window=24h`;
  return fail('invalid_query', `The query parameter "step" must ${expected}`);
}

function sinceOf(query: Query): number | undefined | Failure {
  const time = queryTime(query, 'since');
  return typeof time === 'string' ? Math.floor(Date.parse(time) / 1000) : time;
}

function topView(
  by: unknown,
  rows: readonly object[],
  rowsTotal: number,
  other: number,
  requests: number,
): Record<string, unknown> {
  return { by, rows, rows_total: rowsTotal, other_requests: other, requests };
}

/** Statistics are switched off: no steps. */
function offView(
  { clock }: ManagementContext,
  window: WindowName,
  stepSecs: number,
): Record<string, unknown> {
  const now = timestamp(clock.nowMs());
  return { enabled: false, window, from: now, to: now, step_secs: stepSecs, nodes: [] };
}

const NO_GRID: StatsGrid = { window: '15m', fromSecs: 0, stepSecs: 1, steps: 0 };

function noSeries(): Record<string, unknown> {
  return seriesView(STATS_COLUMNS, NO_GRID, { sinceSecs: undefined, steps: [], rows: [] }, false);
}
