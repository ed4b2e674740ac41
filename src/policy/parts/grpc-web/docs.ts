/** The reference text of `grpc_web`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- A request with a \`content-type\` of \`application/grpc-web\` or \`application/grpc-web-text\` (Base64), with or without \`+proto\` and the like, goes to the backend as a call of \`application/grpc\`, over HTTP/2. The client may speak HTTP/1.1 or HTTP/2. Unary calls and streams from the server pass; each piece goes on as it comes.
- The answer has the trailers as its last message. It is in Base64 when the request was, or when \`Accept\` asks for it.
- Errors of the gateway have status 200 with \`grpc-status\` and \`grpc-message\` in the head, as for [gRPC](backend-connections.md#grpc); \`grpc-timeout\` bounds the call. A request that is no Base64, though it says so, is 13 \`INTERNAL\` (400 \`bad_request\` in the log).
- With [\`cors\`](#cors), pages may also send \`Content-Type\`, \`X-Grpc-Web\`, \`X-User-Agent\` and \`Grpc-Timeout\`, and read \`Grpc-Status\`, \`Grpc-Message\` and \`Grpc-Status-Details-Bin\`, whatever its lists say.
- It needs a revision with a \`backend_protocol\` of \`h2\` or \`auto\`. A backend that is asked over HTTP/1.1, also with \`auto\` when it chooses HTTP/1.1, gets the request as it is, and its answer passes as it is. So it is for every backend without this part: some speak gRPC-Web themselves.
- Messages are not read: a length, a flag or a message of trailers that gRPC does not have is for the backend to refuse.`;

export const GRPC_WEB_DOCS: PartDocs = {
  summary:
    'whether calls of [gRPC-Web](#grpc_web) are translated to gRPC; false or absent passes them as they are',
  example: true,
  text: TEXT,
};
