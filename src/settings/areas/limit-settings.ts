/** Settings of rate limits: defaults, memory, and the store that gateways share. */
import { parseRedisUrl } from '../../model/redis-url.ts';
import { FULL_SHARES, memoryShares } from '../memory-shares.ts';
import { boolean, integer, oneOf, text, type Setting } from '../settings-values.ts';

export const LIMIT_MODES = ['leased', 'exact'] as const;

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const requestCount = { min: 1, max: 1_000_000_000 };
const windowSecs = { min: 1, max: 31_622_400 };
const timeoutMs = { min: 1, max: 86_400_000 };

export const LIMIT_SETTINGS = {
  GATEWAY_RATE_LIMIT_REQUESTS: integer(requestCount, {
    default: undefined,
    description:
      'Default rate limit: requests per window and app where no policy has a `rate_limit`. Needs `GATEWAY_RATE_LIMIT_WINDOW_SECS`.',
  }),
  GATEWAY_RATE_LIMIT_WINDOW_SECS: integer(windowSecs, {
    default: undefined,
    description: 'Window of the default rate limit in seconds.',
  }),
  GATEWAY_PER_IP_RATE_LIMIT_ENABLED: boolean({
    default: false,
    description: 'Limit each client address over all apps, in addition to every other limit.',
  }),
  GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: integer(requestCount, {
    default: undefined,
    description: 'Requests per window and client address. Required when the per-IP limit is enabled.',
  }),
  GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: integer(windowSecs, {
    default: undefined,
    description: 'Window of the per-IP limit in seconds. Required when the per-IP limit is enabled.',
  }),
  GATEWAY_LIMITS__MAX_COUNTER_BYTES: integer(
    { min: MIB, max: 8 * GIB },
    {
      default: FULL_SHARES.counterBytes,
      defaultFor: (facts) => memoryShares(facts).counterBytes,
      defaultText:
        '2147483648, or half of what the machine or container has beyond 256 MiB where that is less, and at least 16777216',
      description:
        'Maximum bytes of memory for rate limit counters. The memory grows with the number of callers: each takes 64 bytes, or 128 to 1792 with a sliding window. When it is used up, the limit with the most counters counts less exactly (see `rate_limit` in docs/reference/policies.md).',
    },
  ),
  GATEWAY_REDIS_URL: text('URL (redis:// or rediss://)', {
    default: undefined,
    defaultText: 'each node counts for itself',
    secret: true,
    description:
      'Valkey or Redis in which several gateways count their rate limits together: `redis://user:password@host:port/database`, over TLS `rediss://`; for a cluster `redis+cluster://host:port,host:port`; for a primary behind Sentinels `redis+sentinel://host:port,host:port/name`. The last two begin with `rediss+` for TLS. In the password, `/`, `@` and `%` are percent-encoded (`%2F`, `%40`, `%25`).',
    expected:
      'a URL such as redis://host:6379, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379/name, with each of / @ % in the password percent-encoded (/ is %2F)',
    pattern: { test: (value) => parseRedisUrl(value) !== undefined },
  }),
  GATEWAY_LIMITS__MODE: oneOf(LIMIT_MODES, {
    default: 'leased',
    description:
      'How gateways share a rate limit if its policy does not say it: `leased` takes permits in portions, `exact` asks the store for every request. It needs `GATEWAY_REDIS_URL`, as the other `GATEWAY_LIMITS__*` settings do, except `GATEWAY_LIMITS__MAX_COUNTER_BYTES`.',
  }),
  GATEWAY_LIMITS__TIMEOUT_MS: integer(
    { min: 1, max: 10_000 },
    {
      default: 40,
      description:
        'Milliseconds that a request waits for the store of limits. If the store is slower, it is not asked again until it has answered; until then `on_store_failure` of the policy applies.',
    },
  ),
  GATEWAY_LIMITS__CONNECT_TIMEOUT_MS: integer(timeoutMs, {
    default: 1_000,
    description: 'Milliseconds for connecting to the store of limits.',
  }),
  GATEWAY_LIMITS__KEY_PREFIX: text('text', {
    default: 'headgate:',
    description:
      'Start of all keys in the store of limits. Gateways with the same prefix share their limits.',
    pattern: /^[\x21-\x7a]{0,64}$/,
    expected: 'at most 64 visible ASCII characters without spaces and braces',
  }),
  GATEWAY_LIMITS__NODES: integer(
    { min: 1, max: 10_000 },
    {
      default: 1,
      description:
        'Number of gateways that share the limits, for a start while the store of limits is unreachable. Gateways on the same PostgreSQL database use the number of live ones if it is higher. Once the store answers, they are counted there.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
