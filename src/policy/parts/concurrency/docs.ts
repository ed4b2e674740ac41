/** The reference text of `concurrency`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- At most \`max\` requests are under way at once. One more gets 429 \`concurrency_limited\` with \`Retry-After: 1\`. \`per\` is as for \`rate_limit\`. There is one count under the level that set the cap.
- A request is under way until its response has been handed to the client's connection, its client or backend is gone, or it timed out. A WebSocket is under way while it is open.
- Counting is exact over all workers of the gateway. What a worker held that dies is given back at once. Several gateways count apart.
- The cap comes before the rate limits: a request over the cap is charged to no limit.
- A change of \`max\` applies at once, and counts what is under way already.
- There is room for four times as many callers as requests can be under way, so the callers of one app take no room from those of another.

How it works: [concurrency caps](../explanation/decisions/concurrency-caps.md).`;

export const CONCURRENCY_DOCS: PartDocs = {
  summary: 'how many at once',
  example: { max: 20, per: 'api_key' },
  inShadow: { request: 'passes without a place under the cap', noted: 'what would be 429' },
  text: TEXT,
};
