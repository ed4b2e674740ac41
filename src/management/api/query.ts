/**
 * Query parameters: each operation lists its own in a schema; an unknown, repeated or malformed one is 400, since a
 * mistyped `cascade` or `cursor` must not be ignored. Also the paging of lists: `limit` and an opaque `cursor`.
 */
import { Format } from 'typebox/format';
import { Type } from 'typebox';
import { closed } from '../../model/schema-pieces.ts';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../schemas/common.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import type { Page, PageRequest } from '../../storage/repository.ts';
import { fail, type Failure, type PageInfo } from './failure.ts';
import { normalizeTime } from '../write/rules/times.ts';
import { validate } from './validate.ts';

/** A parameter that may be repeated is a list. */
type QueryValue = string | number | boolean | readonly string[];
export type Query = Readonly<Record<string, QueryValue>>;

export const NO_QUERY = jsonSchema(Type.Object({}, closed));

/** Query parameters of every list. */
export const PAGE_FIELDS = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PAGE_LIMIT_MAX,
      default: PAGE_LIMIT_DEFAULT,
      description: 'Maximum number of items on the page.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 128, description: '`page.next_cursor` of the previous page.' }),
  ),
};

export const PAGE_QUERY = jsonSchema(Type.Object(PAGE_FIELDS, closed));

const CASCADE_FIELDS = {
  cascade: Type.Optional(
    Type.Boolean({ default: false, description: 'Also delete everything below the resource.' }),
  ),
};
const DRY_RUN_FIELDS = {
  dry_run: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Change nothing. The answer is 200 and says what would change for which endpoints.',
    }),
  ),
};

export const CASCADE_QUERY = jsonSchema(Type.Object(CASCADE_FIELDS, closed));
export const DRY_RUN_QUERY = jsonSchema(Type.Object(DRY_RUN_FIELDS, closed));
export const DRY_RUN_CASCADE_QUERY = jsonSchema(
  Type.Object({ ...CASCADE_FIELDS, ...DRY_RUN_FIELDS }, closed),
);

/** Reads raw query parameters by the schema; numbers and booleans in their one usual spelling. */
export function parseQuery(raw: Readonly<Record<string, unknown>>, schema: JsonSchema): Query | Failure {
  const query: Record<string, QueryValue> = {};
  for (const [name, text] of Object.entries(raw)) {
    const known = schema.properties?.[name];
    if (known === undefined || !Object.hasOwn(schema.properties ?? {}, name)) {
      return fail('invalid_query', `The query parameter "${name}" is not known here`);
    }
    const mayRepeat = known.type === 'array';
    if (typeof text !== 'string' && !mayRepeat) {
      return fail('invalid_query', `The query parameter "${name}" must be given once`);
    }
    const value = mayRepeat ? ([text].flat() as string[]) : convert(known, String(text));
    const error = validate(known, value, 'query')[0];
    if (error !== undefined) {
      const detail = known.type === 'boolean' ? 'must be true or false' : error.detail;
      return fail('invalid_query', `The query parameter "${name}" ${detail}`);
    }
    query[name] = value;
  }
  return query;
}

function convert(schema: JsonSchema, text: string): string | number | boolean {
  if (schema.type === 'integer' && /^(?:0|[1-9][0-9]{0,14})$/.test(text)) return Number(text);
  if (schema.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** A time in a query, in the form in which times are stored; undefined when it is absent. */
export function queryTime(query: Query, name: string): string | undefined | Failure {
  const text = query[name];
  if (text === undefined) return undefined;
  const time = normalizeTime(String(text));
  return time ?? fail('invalid_query', `The query parameter "${name}" is not a date that exists`);
}

/** Adds `since` and `until` of a query to a filter. */
export function addPeriod(query: Query, filter: { since?: string; until?: string }): Failure | undefined {
  for (const name of ['since', 'until'] as const) {
    const time = queryTime(query, name);
    if (typeof time === 'object') return time;
    if (time !== undefined) filter[name] = time;
  }
  return undefined;
}

/** The page that a query asks for; a cursor that was not made by `pageInfo` is 400. */
export const pageRequest = (query: Query): PageRequest | Failure =>
  requestedPage(query, (after) => Format.IsUuid(after));

/** The same for lists that are ordered by a number. */
export const countedPageRequest = (query: Query): PageRequest | Failure =>
  requestedPage(query, (after) => /^(?:0|[1-9][0-9]{0,14})$/.test(after));

function requestedPage(query: Query, isAfter: (text: string) => boolean): PageRequest | Failure {
  const limit = typeof query['limit'] === 'number' ? query['limit'] : PAGE_LIMIT_DEFAULT;
  const cursor = query['cursor'];
  if (cursor === undefined) return { limit, after: undefined };
  const after = Buffer.from(String(cursor), 'base64url').toString('latin1');
  if (!isAfter(after) || encodeCursor(after) !== cursor) {
    return fail('invalid_query', 'The query parameter "cursor" must be a next_cursor that this API returned');
  }
  return { limit, after };
}

export function pageInfo(page: Page<unknown>, limit: number): PageInfo {
  const { nextAfter, total } = page;
  return { limit, next_cursor: nextAfter === null ? null : encodeCursor(nextAfter), total };
}

function encodeCursor(id: string): string {
  return Buffer.from(id, 'latin1').toString('base64url');
}
