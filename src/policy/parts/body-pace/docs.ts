/** The reference text of `min_body_bytes_per_sec`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- A request body that comes more slowly gets 408 \`request_timeout\`, and both connections are closed. The backend is not blamed.
- The pace is required over every period longer than \`GATEWAY_PROXY__MIN_BODY_GRACE_MS\` (5 seconds). A client may pause for that long and send in bursts, but a burst at the start does not make up for a slow rest.
- Only the time in which the gateway waits for the client counts. The time in which the backend does not read or has not yet sent 100 (Continue) does not count, nor the time after the response has begun.
- 0 switches it off, for uploads that are streams: events, audio, files that grow. Without the part, \`GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC\` applies, which is off by default. On a gateway that is open to the internet, set it (240 is usual), and switch it off for routes with streams.
- Heads arrive before a policy applies; for them there are \`GATEWAY_PROXY__MIN_HEAD_BYTES_PER_SEC\` and \`GATEWAY_PROXY__HEAD_TIMEOUT_MS\`.`;

export const BODY_PACE_DOCS: PartDocs = {
  summary:
    '[minimum pace of a request body](#min_body_bytes_per_sec); replaces `GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC`, 0 switches it off',
  example: 240,
  text: TEXT,
};
