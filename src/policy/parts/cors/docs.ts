/** The reference text of `cors`. Links are relative to docs/reference/. */
import type { PartDocs } from '../../part.ts';

const TEXT = `- Origins are compared whole. The case of scheme and host and default ports do not matter. \`["*"]\` stands for any origin and cannot be combined with \`allow_credentials\` (422). \`https://*.example.com\` stands for every name below \`example.com\`, with this scheme and port; a star anywhere else gets 422. \`null\` may be listed, but not with \`allow_credentials\` (422).
- The gateway answers a preflight with 204, before authentication, for the method that it asks about. If \`allowed_methods\` or \`allowed_headers\` is left out, the gateway allows what the preflight asks for.
- The fields are also added to the gateway's own answers (401, 403, 404, 429, 502 …), so that a page can read them. Preflights therefore succeed even if the request itself will fail. CORS fields of the backend are replaced.

Why: [CORS](../explanation/decisions/cors.md). Steps: [let a web app call your API](../how-to/cors.md).`;

export const CORS_DOCS: PartDocs = {
  summary: 'what browsers on other origins may do',
  example: {
    allowed_origins: ['https://app.example.com'],
    allowed_methods: ['GET', 'POST'],
    allowed_headers: ['Authorization', 'Content-Type'],
    expose_headers: ['X-Total'],
    allow_credentials: true,
    max_age_secs: 600,
  },
  inShadow: {
    request: 'is treated as if the route had no `cors`: the backend answers preflights and sets CORS fields',
    noted:
      "requests with an `Origin` that a browser would not have sent, or whose answer it would not have given to the page. Compared are the origin, the method, `Authorization` and `Content-Type`, cookies without `allow_credentials`, and preflights that ask for more than is allowed. Requests from the gateway's own origin (`Host`, or `Sec-Fetch-Site: same-origin`), navigations and WebSockets are not recorded",
  },
  text: TEXT,
};
