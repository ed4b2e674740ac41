/** The reference text of `rate_limit`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `| algorithm | admits |
| --- | --- |
| \`fixed_window\` (default) | \`requests\` per window; windows are aligned to the clock, and bursts at their boundaries are possible |
| \`sliding_window\` | never more than \`requests\` in any window; at least 98 % of that under sustained load |
| \`token_bucket\` | bursts up to \`burst\` (default \`requests\`), refilled continuously at \`requests\` per \`window_seconds\` |

- \`per\` is \`scope\` (default: one counter for everything under the level that set the limit), \`api_key\` (anonymous callers are counted by address), \`ip\`, \`header:<name>\` or \`claim:<name>\`.
- Counting is exact over all workers, and with \`GATEWAY_REDIS_URL\` over all gateways. A request that is refused by a limit, by a cap or by an earlier check is not counted. One exception: with \`GATEWAY_REDIS_URL\`, if the limit per address and the route's own limit both apply, the address may be charged when another request takes the last permit of the other limit. A request that fails later (because of an open breaker, a chunked body that is too large, or a failing backend) is counted.
- A refusal is 429 with \`Retry-After\`: the whole seconds after which one request will be admitted. Responses carry \`RateLimit\`, \`RateLimit-Policy\` and \`X-RateLimit-Limit\`, \`-Remaining\`, \`-Reset\`.
- If no level has a \`rate_limit\`, the global default applies, counted per app (\`GATEWAY_RATE_LIMIT_REQUESTS\`, \`GATEWAY_RATE_LIMIT_WINDOW_SECS\`). It also supplies the fields that an enabled limit leaves out. A \`rate_limit\` that is not enabled exempts the route.
- The limit per client address (\`GATEWAY_PER_IP_RATE_LIMIT_ENABLED\`) applies in addition, over all apps.
- Both come after authentication. \`GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE\` protects against guessing, and is checked before authentication.

### How many callers

Each caller of a limit has a counter of 64 bytes. With \`sliding_window\` it is 128 bytes, and up to 1.8 KB if it admits 123 requests or more per window. \`GATEWAY_LIMITS__MAX_COUNTER_BYTES\` bounds the memory of all counters together; the default has room for more than 1,000,000 callers with every algorithm, and 30,000,000 with \`fixed_window\` and \`token_bucket\`. The process takes this memory as the number of callers grows, and keeps it. In a container with less than 4.25 GiB, the default is half of the memory beyond 256 MiB, and at least 16 MiB.

When the memory is full, the limit with the most counters gives up some: the counter of its caller with the lowest use is removed. New callers of *this limit* then begin with the use of the removed callers, until the window has passed. No caller gets more than the limit, but some are refused early. Callers of other limits notice nothing. \`headgate_limit_evictions_total\` counts evictions, and a warning in the log names the limit. A limit \`per: header:<name>\` has a counter for every value that clients send: require authentication, or set a limit \`per: ip\` as well.

IPv6 clients are counted by their /64 network (\`GATEWAY_IPV6_PREFIX_BITS\`); \`::ffff:192.0.2.1\` is \`192.0.2.1\`.

How the counters work: [limits in shared memory](../explanation/decisions/limits-in-shared-memory.md).

### Over many nodes

With \`GATEWAY_REDIS_URL\` all gateways that have the same Valkey or Redis count together: limits of policies, plans of keys, the global default and the limit per client address. [Limits over many gateways](../explanation/shared-limits.md) has the bounds. Two fields say how:

| field | value | meaning |
| --- | --- | --- |
| \`mode\` | \`leased\` (default: \`GATEWAY_LIMITS__MODE\`) | a worker takes permits in portions: large ones while the limit is far, single ones near it. As long as it has a permit left, it decides without waiting |
| | \`exact\` | the store is asked for every request; requests that wait for the same counter share a round trip |
| \`on_store_failure\` | \`share\` (default) | while the store is unreachable, each gateway admits its fair share: the limit divided by the number of gateways that were live when the store last answered |
| | \`allow\` | requests pass without a limit until the store answers |
| | \`deny\` | requests are refused until the store answers: 429 with \`Retry-After: 1\` |

- The clock of the store decides. A gateway with a wrong clock does not admit more. If the clock of the store is set back, counters continue at the new time with what they have counted.
- In \`leased\` mode, \`Remaining\` is the number of permits that the store had left when this worker last asked, plus those that the worker still has. Permits that other gateways give back may be available before \`Retry-After\` has passed.
- Fair shares add up to the limit. If the limit is lower than the number of gateways, some gateways admit nothing. When the store is back, a token bucket is charged with what was admitted in the meantime, and may refuse requests until it has filled again.
- [Explain](explain.md) asks the store and takes nothing from it.
- Each gateway counts \`concurrency\` and failed authentications for itself.
- Without \`GATEWAY_REDIS_URL\` both fields have no effect.`;

export const RATE_LIMIT_DOCS: PartDocs = {
  summary: 'how many requests in a time',
  example: { enabled: true, requests: 100, window_seconds: 60, algorithm: 'sliding_window', per: 'api_key' },
  inShadow: {
    request:
      'passes, is counted, and gets no `RateLimit` fields; the limit per client address stays in force',
    noted: 'requests that would get 429',
  },
  text: TEXT,
};
