/** The query of a list: its page and its filter. */
import { Type, type TSchema } from 'typebox';
import { timestamp } from '../../lib/clock.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import { NO_NUL_PATTERN } from '../../model/patterns.ts';
import { closed, oneOf } from '../../model/schema-pieces.ts';
import { LIST_ORDERS, type ListOrder } from '../../storage/repository.ts';
import { STATUSES, type FilteredTable, type ListFilter } from '../../storage/list-filter.ts';
import { fail, type Failure } from '../api/failure.ts';
import { PAGE_FIELDS, PAGE_QUERY, queryTime, type Query } from '../api/query.ts';

const TEXT_CHARS_MAX = 200;
const LABELS_MAX = 10;

const LABEL = Type.Array(Type.String({ pattern: NO_NUL_PATTERN, maxLength: 512 }), {
  maxItems: LABELS_MAX,
  description:
    'Only items with this label, `name:value`. It may be repeated; items must then have all of the labels.',
});

const TEXT = Type.String({
  minLength: 1,
  maxLength: TEXT_CHARS_MAX,
  pattern: NO_NUL_PATTERN,
  description:
    'Only items with this text in a name, label, path or description. The case of the letters A to Z is ignored.',
});

const UPDATED_SINCE = Type.String({
  format: 'date-time',
  description: 'Only items that were created or changed at this time or later.',
});

const ORDER = oneOf(LIST_ORDERS, {
  default: 'oldest_first',
  description: 'A cursor is valid only for the order with which it was returned.',
});

/** The order of a list that can be filtered. */
export function listOrder({ order }: Query): ListOrder {
  return order === 'newest_first' ? 'newest_first' : 'oldest_first';
}

/** @param table absent when the list cannot be filtered */
export function listQuery(table: FilteredTable | undefined): JsonSchema {
  if (table === undefined) return PAGE_QUERY;
  const fields: Record<string, TSchema> = { ...PAGE_FIELDS, order: Type.Optional(ORDER) };
  if (table === 'app') fields['label'] = Type.Optional(LABEL);
  fields['q'] = Type.Optional(TEXT);
  const statuses = STATUSES[table].map((status) => Type.Literal(status));
  if (statuses.length > 0) {
    const description = 'Only items with this status.';
    fields['status'] = Type.Optional(Type.Union(statuses, { description }));
  }
  fields['updated_since'] = Type.Optional(UPDATED_SINCE);
  return jsonSchema(Type.Object(fields, closed));
}

/** The filter of a query; undefined when it has none. */
export function listFilter(query: Query, nowMs: number): ListFilter | Failure | undefined {
  const { label, q: text, status, updated_since: since } = query;
  if (label === undefined && text === undefined && status === undefined && since === undefined) {
    return undefined;
  }
  const updatedSince = queryTime(query, 'updated_since');
  if (typeof updatedSince === 'object') return updatedSince;
  const labels: [string, string][] = [];
  for (const each of Array.isArray(label) ? (label as readonly string[]) : []) {
    const colon = each.indexOf(':');
    if (colon < 1)
      return fail('invalid_query', `The query parameter "label" must be name:value, not "${each}"`);
    labels.push([each.slice(0, colon), each.slice(colon + 1)]);
  }
  return {
    now: timestamp(nowMs),
    ...(labels.length > 0 && { labels }),
    ...(text !== undefined && { text: String(text) }),
    ...(status !== undefined && { status: String(status) }),
    ...(updatedSince !== undefined && { updatedSince }),
  };
}
