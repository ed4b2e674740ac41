/** Counts of requests of an API key: what `GET …/tokens/{token_id}/usage` takes and answers. */
import { Type } from 'typebox';
import { DATE_PATTERN } from '../../model/patterns.ts';
import { closed } from '../../model/schema-pieces.ts';
import { id } from './common.ts';

function date(description: string) {
  return Type.String({ pattern: DATE_PATTERN, description: `${description}, UTC, \`YYYY-MM-DD\`.` });
}

const count = (description: string) => Type.Integer({ minimum: 0, description });

const counts = {
  allowed: count('Requests that the policy allowed, regardless of the answer of the backend.'),
  limited: count('Requests refused with 429.'),
  denied: count('Requests refused with 401, 403 or 405.'),
};

export const KeyUsageQuerySchema = Type.Object(
  {
    from: Type.Optional(date('First day; default: 29 days before `to`')),
    to: Type.Optional(date('Last day; default: today')),
  },
  closed,
);

export const KeyUsageSchema = Type.Object(
  {
    token_id: id('Id of the token.'),
    from: date('First day'),
    to: date('Last day'),
    totals: Type.Object(counts, { ...closed, title: 'TokenUsageCounts', description: 'Sums over the days.' }),
    days: Type.Array(Type.Object({ date: date('Day'), ...counts }, { ...closed, title: 'TokenUsageDay' }), {
      description: 'Days with requests, oldest first.',
    }),
  },
  { ...closed, title: 'TokenUsage' },
);
