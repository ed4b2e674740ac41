/** The reference text of `retries`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `\`max\` (0 to 5, default 1) is the number of attempts beyond the first. \`on\` (default \`["connect", "reset"]\`) says after what:

| \`on\` | after | of which requests |
| --- | --- | --- |
| \`connect\` | a connection that was refused, unreachable, not resolved, or lost before anything left on it | all |
| \`reset\` | a connection that was lost before a byte of the response | idempotent ones |
| \`timeout\` | \`connect_ms\` | all |
| | \`first_byte_ms\` | idempotent ones |
| \`500\`, \`502\`, \`503\`, \`504\` | a response of the backend with this status; without an attempt left, the client gets it | idempotent ones |

- **A request that is not idempotent never reaches a backend twice**, whatever \`on\` says. Idempotent are GET, HEAD, OPTIONS, TRACE, PUT and DELETE. Others are sent again only if no byte had been handed to the operating system.
- A body is sent again only if it came with its head and has at most 64 KiB, or is [held whole](#buffer_request_bytes). A backend of HTTP/2 that [has not looked at the request](backend-connections.md#http2) gets one that is still to come, too. Nothing is tried again once the backend has sent any of a response, even a 103.
- TLS errors, malformed responses and responses that break off are not tried again.
- Another attempt goes at once, on a new connection. It goes to another current revision, by weight, if that has a closed breaker (and is not just recovering) and a route under the same policy, with no policy of its own; else to the same revision.
- Of a revision with [several targets](targets.md), another attempt goes first to another of its targets. A connection that could not be made is tried at up to five further targets, whatever \`max\` is, unless it is 0; these attempts do not count for the budget, since no target has got the request.
- **Budget**: in any ten seconds, a worker's retries of one app to a backend are at most 20 % of the app's first attempts there, plus ten. Beyond it the client gets the first failure, so that an outage is not multiplied. An app cannot use up the 20 % of another that has the same backend. The ten come from twenty for all apps of the backend, of which an app has at most as many as are left for others. They are a floor per worker: from four workers, a backend with little traffic may get up to forty requests more in ten seconds, or up to eighty if several apps share it.
- A pooled connection that was closed before anything was written to it is replaced, for every method. That is no retry: it is not counted, and \`max: 0\` does not forbid it.
- A revision's breaker counts one failure per exchange.

\`headgate_upstream_retries_total\` and \`headgate_upstream_retries_refused_total\` count by reason; the access log names \`retries\`. Why: [retries](../explanation/decisions/retries.md).`;

export const RETRIES_DOCS: PartDocs = {
  summary: 'what is tried again, and how often',
  example: { max: 2, on: ['connect', 'reset', 'timeout', '503'] },
  text: TEXT,
};
