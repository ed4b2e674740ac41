/** The shadow report: what parts of policies in shadow mode would have denied. */
import { Type } from 'typebox';
import { CALLER_KINDS } from '../../model/auth/caller-kinds.ts';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { id } from './common.ts';

export const SHADOW_REPORT_ROWS_MAX = 500;
export const SHADOW_REPORT_ROWS_DEFAULT = 100;
export const SHADOW_REPORT_KEYS_MAX = 50;
export const SHADOW_REPORT_KEYS_DEFAULT = 10;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const CallerSchema = Type.Object(
  {
    kind: oneOf(CALLER_KINDS, { description: 'How the caller was identified.' }),
    id: Type.String({ description: 'Id of the key or subject of the token; empty for anonymous callers.' }),
    name: Type.String({ description: 'Name of the key; for other callers the same as `id`, or empty.' }),
    total: count('Requests of this caller.'),
    first_at: dateTime('Time of the first request.'),
    last_at: dateTime('Time of the last request.'),
  },
  { ...closed, title: 'ShadowCaller' },
);

const RowSchema = Type.Object(
  {
    part: Type.String({ description: 'Part of the policy, such as `rate_limit`.' }),
    version: nullable(Type.String({ description: 'Label of the version.' })),
    revision: nullable(Type.String({ description: 'Label of the revision.' })),
    revision_id: nullable(id('Id of the revision.')),
    endpoint_id: nullable(id('Id of the endpoint. null: requests that match no endpoint of the revision.')),
    method: nullable(Type.String({ description: 'Method of the endpoint; `*` is any.' })),
    route: nullable(
      Type.String({ description: 'Gateway path and endpoint path. null: all other endpoints together.' }),
    ),
    total: count('Requests that the part would have denied.'),
    first_at: dateTime('Time of the first request.'),
    last: Type.Object(
      {
        at: dateTime('When it happened.'),
        request_id: Type.String({ description: 'Id of the exchange.' }),
        code: Type.String({ description: 'Error code that the client would have received.' }),
        detail: Type.String({ description: 'Reason of the denial, for people.' }),
      },
      { ...closed, title: 'ShadowLast', description: 'The last request.' },
    ),
    keys: Type.Array(CallerSchema, {
      description: 'The callers with the most requests, highest count first.',
    }),
    other_keys: count('Requests of callers that are not in `keys`.'),
  },
  { ...closed, title: 'ShadowRow' },
);

export const ShadowReportSchema = Type.Object(
  {
    app_id: id('Id of the app.'),
    since: dateTime('Start of the counting for the app.'),
    from: dateTime('Start of the counts in this answer.'),
    total: count('Sum of all rows. A request that two parts would have denied counts twice.'),
    by_part: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Sums by part of the policy.',
    }),
    rows_total: count('Number of all rows, including those that `limit` left out.'),
    rows: Type.Array(RowSchema, { description: 'One row for each endpoint and part, highest counts first.' }),
  },
  { ...closed, title: 'ShadowReport' },
);
