/** The reference text of `rate_limit`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `| algorithm | admits |
| --- | --- |
| \`fixed_window\` (default) | \`requests\` per window; windows are aligned to the clock, and bursts at their boundaries are possible |
| \`sliding_window\` | never more than \`requests\` in any window; at least 98 % of that under sustained load |
| \`token_bucket\` | bursts up to \`burst\` (default \`requests\`), refilled continuously at \`requests\` per \`window_seconds\` |

- \`per\` is \`scope\` (default: one counter for everything under the level that set the limit), \`api_key\` (anonymous callers are counted by address), \`ip\`, \`header:<name>\` or \`claim:<name>\`.
- Counting is exact over all workers, and with \`GATEWAY_REDIS_URL\` over all gateways. A request that a limit, a cap or anything before them refuses takes nothing. One exception: with \`GATEWAY_REDIS_URL\`, if the limit per address and the route's own limit both apply, the address may be charged when another request takes the last permit of the other limit. What is refused later (an open breaker, a chunked body that turns out too large, a failing backend) counts.
- A refusal is 429 with \`Retry-After\`: the whole seconds after which one request will be admitted. Responses carry \`RateLimit\`, \`RateLimit-Policy\` and \`X-RateLimit-Limit\`, \`-Remaining\`, \`-Reset\`.
- If no level has a \`rate_limit\`, the global default applies, counted per app (\`GATEWAY_RATE_LIMIT_REQUESTS\`, \`GATEWAY_RATE_LIMIT_WINDOW_SECS\`). It also fills in what an enabled limit leaves out. A \`rate_limit\` that is not enabled exempts.
- The limit per client address (\`GATEWAY_PER_IP_RATE_LIMIT_ENABLED\`) applies in addition, over all apps.
- Both come after authentication. \`GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE\` is a guard against guessing that comes before it.

### How many callers

Each caller of a limit has a counter of 64 bytes. With \`sliding_window\` it is 128 bytes, and up to 1.8 KB if it admits 123 requests or more per window. \`GATEWAY_LIMITS__MAX_COUNTER_BYTES\` bounds them together; the default has room for more than 1,000,000 callers with every algorithm, and 30,000,000 with \`fixed_window\` and \`token_bucket\`. The process takes the memory as callers come and keeps it. In a container with less than 4 GiB the default is half of its memory: leave that much room, or set less.

When the memory is full, the limit with the most counters makes room: its caller that has used least is evicted. New callers of *this limit* then begin with as much used as the evicted ones had, until the window has passed. None gets more than the limit; some are refused early. Callers of other limits notice nothing. \`headgate_limit_evictions_total\` counts evictions, and a warning in the log names the limit. A limit \`per: header:<name>\` counts whatever clients send: put authentication before it, or a limit \`per: ip\` beside it.

IPv6 clients are counted by their /64 network (\`GATEWAY_IPV6_PREFIX_BITS\`); \`::ffff:192.0.2.1\` is \`192.0.2.1\`.

How the counters work: [limits in shared memory](../explanation/decisions/limits-in-shared-memory.md).

### Over many nodes

With \`GATEWAY_REDIS_URL\` all gateways that have the same Valkey or Redis count together: limits of policies, plans of keys, the global default and the limit per client address. [Limits over many gateways](../explanation/shared-limits.md) has the bounds. Two fields say how:

| field | value | meaning |
| --- | --- | --- |
| \`mode\` | \`leased\` (default: \`GATEWAY_LIMITS__MODE\`) | a worker takes permits in portions, large while the limit is far and single ones near it, and decides without waiting while it has one at hand |
| | \`exact\` | the store is asked for every request; requests that wait for the same counter share a round trip |
| \`on_store_failure\` | \`share\` (default) | while the store is unreachable, each gateway admits its fair share: the limit divided by the number of gateways that lived when it last answered |
| | \`allow\` | requests pass without a limit meanwhile |
| | \`deny\` | requests are refused meanwhile, 429 with \`Retry-After: 1\` |

- Time is the store's. A gateway with a wrong clock admits nothing extra.
- In \`leased\` mode, \`Remaining\` is what the store had left when this worker last asked, plus what the worker has at hand. Permits that other gateways give back may be there before \`Retry-After\`.
- Fair shares add up to the limit. A limit below the number of gateways leaves some without any. A token bucket is charged afterwards with what was admitted meanwhile, and may refuse for as long as it takes to fill.
- [Explain](explain.md) asks the store and takes nothing from it.
- \`concurrency\` and the guard against guessing are counted by each gateway for itself.
- Without \`GATEWAY_REDIS_URL\` both fields have no effect.`;

export const RATE_LIMIT_DOCS: PartDocs = {
  summary: 'how often',
  example: { enabled: true, requests: 100, window_seconds: 60, algorithm: 'sliding_window', per: 'api_key' },
  inShadow: {
    request:
      'passes, is counted, and gets no `RateLimit` fields; the limit per client address stays in force',
    noted: 'what would be 429',
  },
  text: TEXT,
};
