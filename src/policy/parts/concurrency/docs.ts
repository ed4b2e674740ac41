/** The reference text of `concurrency`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- At most \`max\` requests are under way at once. Further requests get 429 \`concurrency_limited\` with \`Retry-After: 1\`. \`per\` means the same as for \`rate_limit\`: by default, all requests under the level that set the cap are counted together.
- A request is under way until its response has been handed to the client's connection, its client or backend is gone, or it timed out. A WebSocket is under way while it is open.
- Counting is exact over all workers of the gateway. When a worker dies, its places are free again at once. Several gateways count separately.
- The cap comes before the rate limits: a request over the cap is not counted by any limit.
- A change of \`max\` applies at once, and requests that are already under way count.
- The gateway can count four times as many callers as there can be requests under way, so the callers of one app never use up the counters of another.

How it works: [concurrency caps](../explanation/decisions/concurrency-caps.md).`;

export const CONCURRENCY_DOCS: PartDocs = {
  summary: 'how many requests at once',
  example: { max: 20, per: 'api_key' },
  inShadow: { request: 'passes without a place under the cap', noted: 'requests that would get 429' },
  text: TEXT,
};
