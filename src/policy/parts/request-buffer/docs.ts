/** The reference text of `buffer_request_bytes`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `By default, bodies are streamed: the gateway sends the request to the backend as soon as it has the head, so a slow client keeps a connection to the backend busy. With this part, the gateway first waits for the body, for at most 64 MiB of it.

- A body up to this size reaches the backend as a whole, with the framing and trailers that the client chose. For a longer body, the gateway waits for that many bytes and streams the rest.
- Until then, the request has no connection to the backend, no place in a queue, and is not a trial of a circuit breaker. It counts as under way. Authentication and limits are checked before, so the gateway does not receive the body of a request that they refuse.
- The gateway answers \`Expect: 100-continue\`.
- A body that does not arrive in time gets 408, and a body that is too large gets 413. The backend does not see either request.
- A body that is held whole can be sent again, which [retries](#retries) of idempotent methods need. Otherwise, only a body of up to 64 KiB that arrived together with its head can be sent again.
- Each worker holds \`GATEWAY_PROXY__MAX_BUFFERED_REQUEST_BYTES\` (64 MiB) of such bodies. One app may use at most three quarters of what the other apps leave. When this memory is full, bodies are streamed. \`headgate_request_buffer_bytes\` shows how much is held.
- Do not use it on routes where the client and the backend send at the same time.`;

export const REQUEST_BUFFER_DOCS: PartDocs = {
  summary:
    '[how much of a request body](#buffer_request_bytes) the gateway waits for before it sends the request to the backend; 0 or absent: the body is streamed',
  example: 1048576,
  text: TEXT,
};
