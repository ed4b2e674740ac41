/** The reference text of `auth`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- \`auth_type\` is \`api_key\` ([API keys](api-keys.md)), \`jwt\` ([JWT](jwt.md)), \`mtls\` ([client certificates](tls-and-http2.md#client-certificates)) or \`none\`.
- \`required\` defaults to true: without a valid credential the answer is 401 with \`WWW-Authenticate: Bearer\`. With \`required: false\` a valid credential identifies the caller, and any other request is anonymous.
- \`required_scopes\` without any \`auth\` implies \`api_key\`. If scopes are required, an anonymous caller gets 401, and a known caller without the scope gets 403.
- The credential is \`Authorization: Bearer …\`, or in the header that \`in\` names. A gateway API key is removed before forwarding unless \`forward_credentials\` is true, also on routes without \`auth\`. A verified JWT is forwarded unless it is false.
- The backend learns the caller from \`X-Headgate-Key-Id\`, \`X-Headgate-Key-Name\`, \`X-Headgate-Scopes\` and \`X-Headgate-Subject\`, which clients cannot send. Scopes are any text. A scope that is no RFC 6749 scope-token (a space, a quote, non-ASCII) is compared like any other but not listed in these headers.

### Another header than Authorization

\`\`\`json
{"auth": {"auth_type": "api_key", "in": "X-API-Key"}}
\`\`\`

- \`in\` names the request header that carries the API key or JWT: the bare token, with or without \`Bearer\` before it. The credential is read there and nowhere else. \`Authorization\` is then an ordinary field and is forwarded, except a bearer token that starts with \`hgk_\`.
- Refused (422) are headers with a meaning of their own, such as \`Host\`, \`Cookie\`, \`Connection\` and other hop-by-hop fields, \`Content-*\`, \`User-Agent\`, \`Forwarded\`, \`X-Forwarded-*\` and \`X-Headgate-*\`; a header that \`claims_to_headers\` writes; and spellings that a server may take for one of these (\`x_forwarded_for\`).
- Several such fields, or a list in one, are a bad credential: 401. An empty one counts as none.
- On a route of API keys, what the header holds is removed before forwarding, valid or not, unless \`forward_credentials\` is true. A verified JWT is forwarded unless that is false. Spellings that a server may take for the header (\`X_API_Key\`) and trailers of that name are never forwarded.
- The challenge of a 401 or 403 is \`WWW-Authenticate: ApiKey realm="<app>", header="X-API-Key"\`, or \`JWT realm=…, header=…\`, with the \`error\`, \`error_description\` and \`scope\` of RFC 6750. \`Bearer\` would tell clients to send \`Authorization\`.
- Routes that authenticate elsewhere forward the header as it is. Give all routes that a client calls the same place, most simply in the app's \`default_policy\`.
- Browsers ask before they send it: list it in \`cors.allowed_headers\`, if that is given.
- Requests with and without the header are weighted apart among several revisions, as with \`Authorization\`.

### Client certificates

\`\`\`json
{"auth": {"auth_type": "mtls", "mtls": {"ca": "partners", "callers": [{"from": "san_uri", "value": "spiffe://acme.example/*", "scopes": ["invoices:read"]}]}}}
\`\`\`

- The client presents its certificate in the TLS handshake; [client certificates](tls-and-http2.md#client-certificates) has what is verified. With \`required: false\` a request without one, or with one that is not accepted, is anonymous.
- \`callers\` are asked in their order, and the first that fits names the caller. A certificate that fits none is refused (401 \`certificate_invalid\`).
- The name of the caller is its id too: \`\${caller.id}\` in \`headers\`, the counter of limits \`per: api_key\`, \`key_id\` of the access log, and \`X-Headgate-Subject\` for the backend.
- The challenge of a 401 or 403 is \`WWW-Authenticate: ClientCertificate realm="<app>"\`, a scheme that is not registered.`;

export const AUTH_DOCS: PartDocs = {
  summary: 'who may call: API key, JWT or client certificate',
  example: { auth_type: 'api_key', required: true, forward_credentials: false },
  inShadow: {
    request:
      'passes as it came, known if it brings a valid credential, anonymous otherwise; an API key is still removed',
    noted: 'what would be 401, or 403 for a missing claim',
  },
  text: TEXT,
};
