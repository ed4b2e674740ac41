/** The shadow report: what parts of policies in shadow mode would have denied. */
import { Type } from 'typebox';
import { nullable } from '../policy.ts';
import { closed, dateTime, id } from './common.ts';

export const SHADOW_REPORT_ROWS_MAX = 500;
export const SHADOW_REPORT_ROWS_DEFAULT = 100;
export const SHADOW_REPORT_KEYS_MAX = 50;
export const SHADOW_REPORT_KEYS_DEFAULT = 10;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const CallerSchema = Type.Object(
  {
    kind: Type.Union(['anonymous', 'api_key', 'jwt'].map((kind) => Type.Literal(kind))),
    id: Type.String({ description: 'Id of the key or subject of the token; empty for anonymous callers.' }),
    name: Type.String({ description: 'Name of the key; otherwise as `id`, or empty.' }),
    total: count('Requests of this caller.'),
    first_at: dateTime('The first of them.'),
    last_at: dateTime('The last of them.'),
  },
  { ...closed, title: 'ShadowCaller' },
);

const RowSchema = Type.Object(
  {
    part: Type.String({ description: 'Part of the policy, such as `rate_limit`.' }),
    version: nullable(Type.String()),
    revision: nullable(Type.String()),
    revision_id: nullable(id('Id of the revision.')),
    endpoint_id: nullable(id('Id of the endpoint; null: what no endpoint of the revision matches.')),
    method: nullable(Type.String({ description: 'As registered; `*` is any.' })),
    route: nullable(
      Type.String({ description: 'Gateway path and endpoint path; null: further endpoints together.' }),
    ),
    total: count('Requests that the part would have denied.'),
    first_at: dateTime('The first of them.'),
    last: Type.Object(
      {
        at: dateTime('When.'),
        request_id: Type.String(),
        code: Type.String({ description: 'Error code of the answer that there would have been.' }),
        detail: Type.String(),
      },
      { ...closed, title: 'ShadowLast', description: 'The last of them.' },
    ),
    keys: Type.Array(CallerSchema, { description: 'The callers with the most requests, most first.' }),
    other_keys: count('Requests of callers that are not in `keys`.'),
  },
  { ...closed, title: 'ShadowRow' },
);

export const ShadowReportSchema = Type.Object(
  {
    app_id: id('Id of the app.'),
    since: dateTime('Since when requests of the app are counted.'),
    from: dateTime('Where the counts of this answer begin.'),
    total: count('Sum over all rows; a request that two parts would have denied counts twice.'),
    by_part: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
    rows_total: count('Number of rows, also of those that were left out for `limit`.'),
    rows: Type.Array(RowSchema, { description: 'By endpoint and part, highest counts first.' }),
  },
  { ...closed, title: 'ShadowReport' },
);
