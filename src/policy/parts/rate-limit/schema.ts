/** Schema of the policy part `rate_limit`, which API keys have as well. */
import { Type, type Static } from 'typebox';
import { closed, oneOf } from '../../../model/schema-pieces.ts';
import { PerSchema } from '../../per/per-schema.ts';

export const RateLimitSchema = Type.Object(
  {
    enabled: Type.Optional(
      Type.Boolean({ default: false, description: 'False: no limit, not even the one of the settings.' }),
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
          'Windows aligned to the clock; never more than `requests` in any window; or a bucket that refills continuously.',
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
          'How gateways that have a store of limits in common share this one: permits in portions, or one by one. Default: the setting.',
      }),
    ),
    on_store_failure: Type.Optional(
      oneOf(['share', 'allow', 'deny'], {
        default: 'share',
        description:
          "What applies while that store is unreachable: this gateway's fair share of the limit, no limit, or no requests.",
      }),
    ),
  },
  { ...closed, description: 'How often requests may come.' },
);

export type RateLimitPolicy = Static<typeof RateLimitSchema>;
