/** The reference text of `auth`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- \`auth_type\` is \`api_key\` ([API keys](api-keys.md)), \`jwt\` ([JWT](jwt.md)), \`mtls\` ([client certificates](tls-and-http2.md#client-certificates)) or \`none\`.
- \`required\` defaults to true: without a valid credential the answer is 401 with \`WWW-Authenticate: Bearer\`. With \`required: false\`, a valid credential identifies the caller, and every other request is anonymous.
- \`required_scopes\` without any \`auth\` implies \`api_key\`. If scopes are required, an anonymous caller gets 401, and a known caller without the scope gets 403.
- The credential is \`Authorization: Bearer …\`, or in the header that \`in\` names. An API key of the gateway is removed before forwarding unless \`forward_credentials\` is true, also on routes without \`auth\`. A verified JWT is forwarded unless \`forward_credentials\` is false.
- The backend learns the caller from \`X-Headgate-Key-Id\`, \`X-Headgate-Key-Name\`, \`X-Headgate-Scopes\` and \`X-Headgate-Subject\`, which clients cannot send. A scope may be any text. A scope that is not a scope-token of RFC 6749 (because it has a space, a quote or a non-ASCII character) is compared like any other, but is not listed in these headers.

### A header other than Authorization

\`\`\`json
{"auth": {"auth_type": "api_key", "in": "X-API-Key"}}
\`\`\`

- \`in\` names the request header that carries the API key or JWT. It contains the token, with or without \`Bearer\` before it. The credential is read there and nowhere else. \`Authorization\` is then an ordinary field and is forwarded, except with a token that starts with \`hgk_\`.
- Headers that already have a meaning are refused (422): for example \`Host\`, \`Cookie\`, \`Connection\` and other hop-by-hop fields, \`Content-*\`, \`User-Agent\`, \`Forwarded\`, \`X-Forwarded-*\` and \`X-Headgate-*\`; a header that \`claims_to_headers\` writes; and names that a server may read as one of these (\`x_forwarded_for\`).
- If a request has several such fields, or a list in one, the credential is not valid: 401. An empty field counts as absent.
- On a route with API keys, the header is removed before forwarding, whether its value is valid or not, unless \`forward_credentials\` is true. A verified JWT is forwarded unless \`forward_credentials\` is false. Names that a server may read as the same header (\`X_API_Key\`) and trailers of that name are never forwarded.
- The challenge of a 401 or 403 is \`WWW-Authenticate: ApiKey realm="<app>", header="X-API-Key"\`, or \`JWT realm=…, header=…\`, with the \`error\`, \`error_description\` and \`scope\` of RFC 6750. \`Bearer\` would tell clients to send \`Authorization\`.
- Routes that read the credential from another header forward this one unchanged. Use the same header on all routes that a client calls; the simplest place to set it is the app's \`default_policy\`.
- Browsers ask with a preflight before they send it: list the header in \`cors.allowed_headers\`, if you set that field.
- With several revisions, requests with the header and requests without it are distributed separately, as with \`Authorization\`.

### Client certificates

\`\`\`json
{"auth": {"auth_type": "mtls", "mtls": {"ca": "partners", "callers": [{"from": "san_uri", "value": "spiffe://acme.example/*", "scopes": ["invoices:read"]}]}}}
\`\`\`

- The client presents its certificate in the TLS handshake; [client certificates](tls-and-http2.md#client-certificates) says what is verified. With \`required: false\`, a request without a certificate, or with one that is not accepted, is anonymous.
- The entries of \`callers\` are compared in their order, and the first that matches names the caller. A certificate that matches none is refused (401 \`certificate_invalid\`).
- The name of the caller is also its id: in \`\${caller.id}\` of \`headers\`, in the counters of limits \`per: api_key\`, in \`key_id\` of the access log, and in \`X-Headgate-Subject\` for the backend.
- The challenge of a 401 or 403 is \`WWW-Authenticate: ClientCertificate realm="<app>"\`, a scheme that is not registered.`;

export const AUTH_DOCS: PartDocs = {
  summary: 'who may call: API key, JWT or client certificate',
  example: { auth_type: 'api_key', required: true, forward_credentials: false },
  inShadow: {
    request:
      'passes unchanged. Its caller is known if it has a valid credential, and anonymous otherwise; an API key is still removed',
    noted: 'requests that would get 401, or 403 for a missing claim',
  },
  text: TEXT,
};
