/** The reference text of `min_body_bytes_per_sec`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- A request body that comes more slowly gets 408 \`request_timeout\`, and both connections are closed. The backend is not blamed.
- The pace holds over any stretch of time longer than \`GATEWAY_PROXY__MIN_BODY_GRACE_MS\` (5 seconds). A client may pause that long and send in bursts, but a burst at the start does not pay for a drip afterwards.
- Only the time counts in which the gateway waits for the client: not while the backend does not read or has yet to say 100 (Continue), and not once the response has begun.
- 0 switches it off, for uploads that are streams: events, audio, files that grow. Without the part, \`GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC\` applies, which is off by default. On a gateway that strangers reach, set it (240 is usual) and switch it off for routes with streams.
- Heads come before any policy: \`GATEWAY_PROXY__MIN_HEAD_BYTES_PER_SEC\` and \`GATEWAY_PROXY__HEAD_TIMEOUT_MS\`.`;

export const BODY_PACE_DOCS: PartDocs = {
  summary:
    '[least pace of a request body](#min_body_bytes_per_sec); wins over `GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC`, 0 is off',
  example: 240,
  text: TEXT,
};
