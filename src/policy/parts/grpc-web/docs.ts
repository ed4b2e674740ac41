/** The reference text of `grpc_web`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- A request with a \`content-type\` of \`application/grpc-web\` or \`application/grpc-web-text\` (Base64), with or without a suffix such as \`+proto\`, goes to the backend as a call of \`application/grpc\`, over HTTP/2. The client may use HTTP/1.1 or HTTP/2. Unary calls and streams from the server are supported; each piece is passed on as it arrives.
- The response contains the trailers as its last message. It is in Base64 if the request was, or if \`Accept\` asks for it.
- Errors of the gateway have status 200 with \`grpc-status\` and \`grpc-message\` in the head, as for [gRPC](backend-connections.md#grpc); \`grpc-timeout\` bounds the call. A request that declares Base64 but is not valid Base64 gets 13 \`INTERNAL\` (400 \`bad_request\` in the log).
- With [\`cors\`](#cors), pages may also send \`Content-Type\`, \`X-Grpc-Web\`, \`X-User-Agent\` and \`Grpc-Timeout\`, and read \`Grpc-Status\`, \`Grpc-Message\` and \`Grpc-Status-Details-Bin\`, even if its lists do not contain them.
- It needs a revision with a \`backend_protocol\` of \`h2\` or \`auto\`. If the gateway uses HTTP/1.1 to the backend, also because the backend chose it with \`auto\`, it passes request and response on unchanged. The same happens without this part, because some backends support gRPC-Web themselves.
- The gateway does not read messages. It leaves it to the backend to refuse a length, a flag or a message of trailers that gRPC does not allow.`;

export const GRPC_WEB_DOCS: PartDocs = {
  summary:
    'whether calls of [gRPC-Web](#grpc_web) are translated to gRPC; false or absent: they are passed on unchanged',
  example: true,
  text: TEXT,
};
