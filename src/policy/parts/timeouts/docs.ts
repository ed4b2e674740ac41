/** The reference text of `timeouts`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `| field | from … to | then | without it |
| --- | --- | --- | --- |
| \`connect_ms\` | start of the attempt … connection, TLS handshake included | 502 \`upstream_connect_failed\` | \`GATEWAY_PROXY__CONNECT_TIMEOUT_MS\` |
| \`first_byte_ms\` | last byte of the request … whole head of the response | 504 \`upstream_timeout\` | \`GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS\` |
| \`idle_ms\` | one byte … the next, either direction, also of upgraded connections | 408 if the client is silent, 504 if the backend stops reading, the end of the connection once a response has begun | \`GATEWAY_PROXY__IDLE_TIMEOUT_MS\` |
| \`total_ms\` | head of the request … last byte of the response | 504 \`upstream_timeout\`; once the response has begun, its connection ends, so that the client notices that a part is missing | no such limit |

- Milliseconds from 1 to 86,400,000, checked every 50 ms.
- The part is inherited whole: a revision's \`{"first_byte_ms": 500}\` removes the \`total_ms\` of an app.
- Without \`total_ms\` a body may arrive as slowly as one byte per \`idle_ms\`. A [minimum pace](#min_body_bytes_per_sec) ends such a request body.
- A peer that reads slowly makes progress only when the system has room for more. With a fast network that may be a third of 4 MiB, so a peer that reads less than some 25 KB/s may be taken for one that has stopped. \`sysctl net.ipv4.tcp_notsent_lowat=131072\` lets the system hold less, so that 10 KB/s are enough for an \`idle_ms\` of 60,000.
- \`total_ms\` covers all attempts together, and also streams and Server-Sent Events. For WebSockets it ends with the 101.
- \`connect_ms\` and \`first_byte_ms\` apply to each attempt.`;

export const TIMEOUTS_DOCS: PartDocs = {
  summary: 'how long a backend may take',
  example: { connect_ms: 500, first_byte_ms: 2000, idle_ms: 10000, total_ms: 30000 },
  text: TEXT,
};
