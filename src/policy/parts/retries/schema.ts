/** Schema of the policy part `retries`. src/proxy/resilience/retry.ts decides for each failure. */
import { Type, type Static } from 'typebox';
import { closed, oneOf } from '../../../model/schema-pieces.ts';

const RETRY_CONDITIONS = ['connect', 'reset', 'timeout', '500', '502', '503', '504'] as const;
export type RetryCondition = (typeof RETRY_CONDITIONS)[number];

export const RetriesSchema = Type.Object(
  {
    max: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 5,
        default: 1,
        description: 'Maximum number of attempts after the first; 0 switches retries off.',
      }),
    ),
    on: Type.Optional(
      Type.Array(oneOf(RETRY_CONDITIONS), {
        uniqueItems: true,
        default: ['connect', 'reset'],
        description: 'Failures and statuses of the backend after which a request is sent again.',
      }),
    ),
  },
  { ...closed, description: 'Which requests are sent again, and how often.' },
);

export type RetriesPolicy = Static<typeof RetriesSchema>;
