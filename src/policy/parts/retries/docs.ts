/** The reference text of `retries`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `\`max\` (0 to 5, default 1) is the maximum number of attempts after the first. \`on\` (default \`["connect", "reset"]\`) says after which failures:

| \`on\` | after | which requests |
| --- | --- | --- |
| \`connect\` | a connection that was refused, unreachable, not resolved, or lost before anything left on it | all |
| \`reset\` | a connection that was lost before a byte of the response | idempotent ones |
| \`timeout\` | \`connect_ms\` | all |
| | \`first_byte_ms\` | idempotent ones |
| \`500\`, \`502\`, \`503\`, \`504\` | a response of the backend with this status; without an attempt left, the client gets it | idempotent ones |

- **A request that is not idempotent never reaches a backend twice**, whatever \`on\` says. GET, HEAD, OPTIONS, TRACE, PUT and DELETE are idempotent. Other requests are sent again only if no byte of them was handed to the operating system.
- A body is sent again only if it came with its head and has at most 64 KiB, or is [held whole](#buffer_request_bytes). If an HTTP/2 backend [has not processed the request](backend-connections.md#http2), the request is sent again even if its body has not fully arrived. Nothing is sent again once the backend has sent any part of a response, even a 103.
- After TLS errors, malformed responses and incomplete responses, the request is not sent again.
- The next attempt starts at once, on a new connection. It goes to another current revision, chosen by weight, if that revision has a closed breaker (and is not just recovering) and a route with the same policy, which must not have a policy of its own. Otherwise it goes to the same revision.
- If a revision has [several targets](targets.md), the next attempt first goes to another of its targets. If the connection could not be made, up to five more targets are tried, whatever \`max\` is, unless \`max\` is 0. These attempts do not count for the budget, because no target got the request.
- **Budget**: in any ten seconds, a worker's retries of one app to a backend are at most 20 % of the app's first attempts there, plus ten. Beyond it the client gets the first failure, so that an outage is not multiplied. An app cannot use up the 20 % of another app with the same backend. The ten are taken from twenty that all apps of the backend share; an app gets at most as many as it leaves for others. They are a minimum per worker: with four workers, a backend with little traffic may get up to forty requests more in ten seconds, or up to eighty if several apps share it.
- A pooled connection that was closed before anything was written to it is replaced, for every method. That is not a retry: it is not counted, and \`max: 0\` does not prevent it.
- A revision's breaker counts one failure per exchange.

\`headgate_upstream_retries_total\` and \`headgate_upstream_retries_refused_total\` count by reason; the access log names \`retries\`. Why: [retries](../explanation/decisions/retries.md).`;

export const RETRIES_DOCS: PartDocs = {
  summary: 'which requests are sent again, and how often',
  example: { max: 2, on: ['connect', 'reset', 'timeout', '503'] },
  text: TEXT,
};
