/** Schema of the policy part `rate_limit`, which API keys have as well. */
import { Type, type Static } from 'typebox';
import { closed, oneOf } from '../../../model/schema-pieces.ts';
import { PerSchema } from '../../per/per-schema.ts';

export const RateLimitSchema = Type.Object(
  {
    enabled: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'False: no limit, not even the default limit of the settings.',
      }),
    ),
    requests: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'Requests in a window. Default: `GATEWAY_RATE_LIMIT_REQUESTS`.',
      }),
    ),
    window_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_622_400,
        description: 'Length of a window. Default: `GATEWAY_RATE_LIMIT_WINDOW_SECS`.',
      }),
    ),
    algorithm: Type.Optional(
      oneOf(['fixed_window', 'sliding_window', 'token_bucket'], {
        default: 'fixed_window',
        description:
          '`fixed_window`: windows aligned to the clock; `sliding_window`: never more than `requests` in any window; `token_bucket`: a bucket that refills continuously.',
      }),
    ),
    burst: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'Capacity of the token bucket. Default: `requests`.',
      }),
    ),
    per: Type.Optional(PerSchema),
    mode: Type.Optional(
      oneOf(['leased', 'exact'], {
        description:
          'How gateways with a common store of limits share this limit: `leased` takes permits in portions, `exact` one by one. Default: the setting.',
      }),
    ),
    on_store_failure: Type.Optional(
      oneOf(['share', 'allow', 'deny'], {
        default: 'share',
        description:
          "What applies while that store is unreachable: `share`: this gateway's fair share of the limit; `allow`: no limit; `deny`: no requests.",
      }),
    ),
  },
  { ...closed, description: 'How many requests are allowed in a time.' },
);

export type RateLimitPolicy = Static<typeof RateLimitSchema>;
