/** The rows of the table of settings (settings-table.ts) for the counters of rate limits: in memory, and shared by nodes. */
import { totalmem } from 'node:os';
import { parseRedisUrl } from '../model/redis-url.ts';
import { integer, oneOf, text } from './settings-values.ts';

export const LIMIT_MODES = ['leased', 'exact'] as const;

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** Room for 1,000,000 callers with a sliding window each that is used to the full. */
const COUNTER_BYTES_DEFAULT = 2 * GIB;
const timeoutMs = { min: 1, max: 86_400_000 };

/** Of what the machine has, or the container may use. */
function halfOfMemory(): number {
  return Math.floor(Math.min(totalmem(), process.constrainedMemory() || Infinity) / 2);
}

export const LIMIT_SETTINGS = {
  GATEWAY_REDIS_URL: text('URL (redis:// or rediss://)', {
    default: undefined,
    defaultText: 'each node counts for itself',
    secret: true,
    description:
      'Valkey or Redis, where several gateways count their rate limits together: `redis://user:password@host:port/database`, with TLS `rediss://`; a cluster as `redis+cluster://host:port,host:port`, a primary that Sentinels know as `redis+sentinel://host:port,host:port/name`, both also with `rediss+`.',
    expected:
      'a URL such as redis://host:6379, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379/name',
    pattern: { test: (value) => parseRedisUrl(value) !== undefined },
  }),
  GATEWAY_LIMITS__MAX_COUNTER_BYTES: integer(
    { min: MIB, max: 8 * GIB },
    {
      default: Math.min(COUNTER_BYTES_DEFAULT, halfOfMemory()),
      defaultText: '2147483648, or half of the memory of the machine or container where that is less',
      description:
        'Memory for the counters of rate limits, at most; it is taken as callers come. A caller takes 64 bytes, with a sliding window 128 to 1792. Beyond it, the limit that has the most counters counts roughly (see `rate_limit` in docs/reference/policies.md).',
    },
  ),
  GATEWAY_LIMITS__MODE: oneOf(LIMIT_MODES, {
    default: 'leased',
    description:
      'How nodes share a rate limit where its policy does not say: `leased` takes permits in portions, `exact` asks the store for every request. Without `GATEWAY_REDIS_URL` it has no effect, and neither have the next four.',
  }),
  GATEWAY_LIMITS__TIMEOUT_MS: integer(
    { min: 1, max: 10_000 },
    {
      default: 40,
      description:
        'How long a request waits for the store of limits. A store that does not answer in time is not asked until it does again; meanwhile `on_store_failure` of the policy applies.',
    },
  ),
  GATEWAY_LIMITS__CONNECT_TIMEOUT_MS: integer(timeoutMs, {
    default: 1_000,
    description: 'Time in which a connection to the store of limits must be made.',
  }),
  GATEWAY_LIMITS__KEY_PREFIX: text('text', {
    default: 'headgate:',
    description:
      'What the keys in the store of limits begin with. Gateways share their limits when they have the same.',
    pattern: /^[\x21-\x7a]{0,64}$/,
    expected: 'at most 64 visible ASCII characters without spaces and braces',
  }),
  GATEWAY_LIMITS__NODES: integer(
    { min: 1, max: 10_000 },
    {
      default: 1,
      description:
        'How many gateways share the limits, for one that starts while the store of limits is out of reach. It goes by those that live on its PostgreSQL database where they are more; once the store has been in reach, the live ones are counted there.',
    },
  ),
} as const;
