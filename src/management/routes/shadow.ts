/**
 * `GET …/shadow-report`: what the policies of an app would have denied, had the parts in shadow mode been in force;
 * `DELETE …/shadow-report` resets the counts. The counts come from the workers and are not configuration.
 */
import { Type } from 'typebox';
import { timestamp } from '../../lib/clock.ts';
import { SHADOW_PART_NAMES } from '../../policy/registry.ts';
import { closed, oneOf } from '../../model/schema-pieces.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import {
  SHADOW_REPORT_KEYS_DEFAULT,
  SHADOW_REPORT_KEYS_MAX,
  SHADOW_REPORT_ROWS_DEFAULT,
  SHADOW_REPORT_ROWS_MAX,
  ShadowReportSchema,
} from '../schemas/shadow.ts';
import type { CallerCount, ShadowRow } from '../../observe/shadow-tally.ts';
import type { ShadowReport, ShadowReportFilter } from '../../observe/shadow-report.ts';
import type { ManagementContext } from '../context.ts';
import { answer, emptyAnswer, isFailure, type Failure } from '../api/failure.ts';
import { itemPath } from '../crud/locate.ts';
import type { Operation } from '../api/operation.ts';
import { NO_QUERY, queryTime, type Query } from '../api/query.ts';
import { NOTHING_TOUCHED } from '../write/write.ts';
import { apps, findAppScope } from './resources/apps.ts';

const NO_ENDPOINT = 'none';
const path = `${itemPath(apps)}/shadow-report`;

const REPORT_QUERY = jsonSchema(
  Type.Object(
    {
      from: Type.Optional(
        Type.String({
          format: 'date-time',
          description:
            'Start of the counts. It is rounded down to the minute, or to the hour if it is more than an hour ago.',
        }),
      ),
      part: Type.Optional(oneOf(SHADOW_PART_NAMES, { description: 'Only this part of policies.' })),
      endpoint_id: Type.Optional(
        Type.String({
          maxLength: 64,
          description: 'Only this endpoint; `none`: requests that match no endpoint of a revision.',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: SHADOW_REPORT_ROWS_MAX,
          default: SHADOW_REPORT_ROWS_DEFAULT,
          description: 'Maximum number of rows in the answer.',
        }),
      ),
      keys: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: SHADOW_REPORT_KEYS_MAX,
          default: SHADOW_REPORT_KEYS_DEFAULT,
          description: 'Maximum number of callers in a row.',
        }),
      ),
    },
    closed,
  ),
);

export function shadowOperations(context: ManagementContext): Operation[] {
  return [readReport(context), resetReport(context)];
}

function readReport(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path,
    operationId: 'getShadowReport',
    tag: apps.tag,
    summary: 'Requests that policy parts in shadow mode would have denied',
    description: 'Counts of all workers up to now, since the start of the gateway, for at most seven days.',
    access: 'viewer',
    query: REPORT_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'Counts by endpoint, part and caller',
      schema: jsonSchema(envelopeSchema('ShadowReportEnvelope', ShadowReportSchema)),
    },
    failures: [],
    handle: async (call) => {
      const filter = filterOf(call.query);
      if (isFailure(filter)) return filter;
      const scope = await context.repository.read((reader) => findAppScope(reader, call.params));
      if (isFailure(scope)) return scope;
      const report = await context.shadow.read(scope.app.id, filter);
      return answer(200, 'Shadow report', present(scope.app.id, report, call.query));
    },
  };
}

function resetReport(context: ManagementContext): Operation {
  return {
    method: 'DELETE',
    path,
    operationId: 'resetShadowReport',
    tag: apps.tag,
    summary: 'Reset the shadow report of an app',
    access: 'editor',
    query: NO_QUERY,
    entityTag: false,
    success: { status: 204, description: 'The counts are 0 again' },
    failures: [],
    handle: async (call) => {
      const scope = await context.repository.read((reader) => findAppScope(reader, call.params));
      if (isFailure(scope)) return scope;
      const { id, slug } = scope.app;
      const audited = await context.write(call, async () => ({
        answer: emptyAnswer(204),
        touched: NOTHING_TOUCHED,
        audit: {
          action: 'shadow_report.reset',
          resourceType: 'shadow_report',
          resourceId: id,
          resourceName: slug,
          parents: { app: slug },
          change: null,
        },
      }));
      if (isFailure(audited)) return audited;
      await context.shadow.reset(id);
      return audited;
    },
  };
}

function filterOf(query: Query): ShadowReportFilter | Failure {
  const { part, endpoint_id: endpoint } = query;
  const from = queryTime(query, 'from');
  if (typeof from === 'object') return from;
  return {
    fromMs: from === undefined ? undefined : Date.parse(from),
    part: part === undefined ? undefined : String(part),
    endpointId: endpoint === NO_ENDPOINT ? null : endpoint === undefined ? undefined : String(endpoint),
  };
}

function present(appId: string, report: ShadowReport, query: Query): Record<string, unknown> {
  const limit = Number(query['limit'] ?? SHADOW_REPORT_ROWS_DEFAULT);
  const keys = Number(query['keys'] ?? SHADOW_REPORT_KEYS_DEFAULT);
  return {
    app_id: appId,
    since: timestamp(report.sinceMs),
    from: timestamp(report.fromMs),
    total: report.total,
    by_part: report.byPart,
    rows_total: report.rows.length,
    rows: report.rows.slice(0, limit).map((row) => presentRow(row, keys)),
  };
}

function presentRow(row: ShadowRow, keys: number): Record<string, unknown> {
  const { route, last, count, firstMs } = row;
  const named = row.callers.slice(0, keys);
  return {
    part: last.part,
    version: route?.version ?? null,
    revision: route?.revision ?? null,
    revision_id: route?.revisionId ?? null,
    endpoint_id: route?.endpointId ?? null,
    method: route?.method ?? null,
    route: route?.route ?? null,
    total: count,
    first_at: timestamp(firstMs),
    last: {
      at: timestamp(last.atMs),
      request_id: last.requestId,
      code: last.code,
      detail: last.detail,
    },
    keys: named.map(presentCaller),
    other_keys: named.reduce((rest, caller) => rest - caller.count, count),
  };
}

function presentCaller({ kind, id, name, count, firstMs, lastMs }: CallerCount): Record<string, unknown> {
  return { kind, id, name, total: count, first_at: timestamp(firstMs), last_at: timestamp(lastMs) };
}
