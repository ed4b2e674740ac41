/**
 * `GET …/tokens/{token_id}/usage`: the results of requests with a key, per UTC day. Counted by
 * src/keys/usage-counter.ts.
 */
import { DAY_MS, sumUsage, utcDate } from '../../../model/key-usage.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { KeyUsageQuerySchema, KeyUsageSchema } from '../../schemas/key-usage.ts';
import type { ManagementContext } from '../../context.ts';
import { answer, fail, isFailure, type Failure } from '../../api/failure.ts';
import { itemPath, locate } from '../../crud/locate.ts';
import type { Operation } from '../../api/operation.ts';
import type { Query } from '../../api/query.ts';
import { tokens } from './tokens.ts';

const DAYS_DEFAULT = 30;
/** Longest range of one answer, in days: a leap year. */
const DAYS_MAX = 366;

export function tokenUsageOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${itemPath(tokens)}/usage`,
    operationId: 'getTokenUsage',
    tag: tokens.tag,
    summary: 'Requests of a token per day',
    description: `Counts of the days from \`from\` to \`to\`, both included, for at most ${DAYS_MAX} days. They are up to date within a few seconds, or within minutes when thousands of keys are in use.`,
    access: 'viewer',
    query: jsonSchema(KeyUsageQuerySchema),
    entityTag: false,
    success: {
      status: 200,
      description: 'Counts per day and their sums',
      schema: jsonSchema(envelopeSchema('TokenUsageEnvelope', KeyUsageSchema)),
    },
    failures: [],
    handle: async (call) => {
      const range = dateRange(call.query, context.clock.nowMs());
      if (isFailure(range)) return range;
      const { from, to } = range;
      return context.repository.read(async (reader) => {
        const located = await locate(tokens, reader, call.params);
        if (isFailure(located)) return located;
        const { id } = located.record;
        const days = await reader.listKeyUsage(id, from, to);
        return answer(200, 'Token usage', { token_id: id, from, to, totals: sumUsage(days), days });
      });
    },
  };
}

interface DateRange {
  readonly from: string;
  readonly to: string;
}

function dateRange(query: Query, nowMs: number): DateRange | Failure {
  const to = typeof query['to'] === 'string' ? query['to'] : utcDate(nowMs);
  const toMs = dayStart(to);
  if (toMs === undefined) return notADay('to');
  // A range must not begin before the first day that a date can express.
  const from =
    typeof query['from'] === 'string'
      ? query['from']
      : utcDate(Math.max(toMs - (DAYS_DEFAULT - 1) * DAY_MS, Date.parse('0001-01-01')));
  const fromMs = dayStart(from);
  if (fromMs === undefined) return notADay('from');
  if (fromMs > toMs)
    return fail(
      'invalid_query',
      `The query parameter "from" must not be after "to", but ${from} is after ${to}`,
    );
  if (toMs - fromMs >= DAYS_MAX * DAY_MS) {
    return fail('invalid_query', `The query parameters "from" and "to" must span at most ${DAYS_MAX} days`);
  }
  return { from, to };
}

/** Unix milliseconds; undefined for a day that does not exist, such as 2026-02-30. */
function dayStart(date: string): number | undefined {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(ms) || utcDate(ms) !== date ? undefined : ms;
}

function notADay(name: string): Failure {
  return fail('invalid_query', `The query parameter "${name}" must be an existing date, YYYY-MM-DD`);
}
