/** The reference text of `buffer_request_bytes`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `By default bodies are streamed: the backend is asked when the head has come, and a slow client holds one of its connections. With this part the gateway waits for the body first, at most 64 MiB of it.

- A body up to the size reaches the backend whole, with the framing and trailers that the client chose. Of a longer one that much is held first, and the rest is streamed.
- Until then the request has no connection to the backend, no place in a queue, and no trial of a circuit breaker. It counts as under way. Authentication and limits come first, so that a stranger's body is not received.
- The gateway answers \`Expect: 100-continue\`.
- A body that does not come in time gets 408, and one that is too large 413. The backend learns of neither.
- A body that is held whole can be sent again, which [retries](#retries) of idempotent methods need. Otherwise only bodies up to 64 KiB that came with their heads can.
- Each worker holds \`GATEWAY_PROXY__MAX_BUFFERED_REQUEST_BYTES\` (64 MiB) of such bodies, of one app at most three quarters of what the others leave. When that is full, bodies are streamed. \`headgate_request_buffer_bytes\` shows how much is held.
- Do not use it on routes whose clients and backends speak at the same time.`;

export const REQUEST_BUFFER_DOCS: PartDocs = {
  summary:
    '[how much of a request body](#buffer_request_bytes) the gateway waits for before it asks the backend; 0 or absent streams it',
  example: 1048576,
  text: TEXT,
};
