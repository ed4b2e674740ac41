/**
 * The policy part `headers`: fields of requests and of responses that are set, added, removed and renamed. edits.ts
 * makes the editors, template.ts reads the values, header-rules.ts refuses names that only the gateway may set. It
 * denies nothing and has no stage.
 */
import type { EffectivePolicy } from '../../../model/policy.ts';
import { definePart, type PartContribution } from '../../part.ts';
import type { AuthPolicy } from '../auth/schema.ts';
import { givenAuth } from '../auth/auth-of.ts';
import { compileEdits } from './edits.ts';
import { vouchedNames } from './field-names.ts';
import { headerErrors } from './header-rules.ts';
import { DIRECTIONS, HeadersSchema, type FieldEdits, type HeadersPolicy } from './schema.ts';

const TEXT = `- Within one direction, \`remove\` and \`rename\` come before \`set\` and \`add\`. A name may occur only once in \`set\`, \`add\`, \`remove\` and the old names of \`rename\` together. A field that already has the new name of a renamed field stays; list it in \`remove\` to drop it.
- A value is text with \`\${caller.id}\`, \`\${caller.key_name}\`, \`\${claim.<name>}\`, \`\${path.<parameter>}\`, \`\${header.<name>}\` (a field of the request; several fields of one name become a list), \`\${request.id}\` and \`\${client.ip}\`. \`$\${\` stands for the text \`\${\`. The text may contain only visible ASCII characters, spaces and tabs.
- An absent source becomes an empty text. A field that the client lists in \`Connection\` counts as absent. A field whose whole value is one absent source is left out, and so is a field whose value would be longer than 4,096 characters. Fields of the client with a name in \`set\` are dropped even then.
- Key names, ids and claims are percent-encoded as in \`X-Headgate-Key-Name\`: visible ASCII characters other than \`%\` stay. A claim that is a list or an object is written as JSON. Path parameters stay percent-encoded, as in the path. Control characters from other sources are left out.
- Names are compared without regard to case, and every character that is not a letter or digit counts as \`-\`: \`X_User\` equals \`X-User\`. Trailers are removed and renamed like fields of the head, but not to a name that is not allowed as a trailer.
- These names are refused (422): hop-by-hop fields, framing (\`Content-Length\`, \`Content-Encoding\`, \`Content-Range\`), \`Host\`, \`Date\`, \`Expect\`, \`Max-Forwards\`, \`Via\`, \`X-Request-Id\`, \`traceparent\`, \`tracestate\`, \`Sec-WebSocket-*\` and \`X-Headgate-*\`; in requests also \`Forwarded\`, \`X-Forwarded-*\`, \`X-Real-IP\` and every other field in which a proxy or CDN names the client's address, such as \`CF-Connecting-IP\` (a backend that trusts such a field would believe that a proxy has seen the address in the policy's text; [request path](../explanation/request-path.md) lists these fields), fields that replace path or method, and fields that \`auth\` reads or writes (\`in\`, \`claims_to_headers\`). \`Authorization\`, \`Cookie\`, \`Origin\` and \`Sec-*\` of requests may be removed and renamed, but not written. \`Access-Control-*\`, \`RateLimit*\`, \`Deprecation\` and \`Sunset\` may be removed from the response of the backend, but not written. A template cannot read a field that carries credentials, or one that the backend does not get.
- Where \`auth\` of another level reads or writes a field, \`headers\` leaves it alone.
- \`set\` and \`add\` of \`response\` apply to every answer of the route: to those of the backend, 101 included, and to those of the gateway, such as 401 and answers to preflights. An answer of the gateway keeps its own \`Content-Type\`, \`Cache-Control\`, \`WWW-Authenticate\`, \`Allow\` and \`Retry-After\`. A 404 without a route has none of these fields. \`remove\` and \`rename\` apply to responses of the backend, interim responses included.
- Values are stored and shown as they are written, so do not put secrets into them.`;

export const HEADERS = definePart({
  name: 'headers',
  schema: HeadersSchema,
  docs: {
    summary: 'header fields that are set, added, removed and renamed',
    example: {
      request: { set: { 'X-User': '${claim.sub}' }, remove: ['X-Debug'] },
      response: { set: { 'Strict-Transport-Security': 'max-age=31536000' }, remove: ['Server'] },
    },
    text: TEXT,
  },
  off: { example: {}, is: isOff },
  mayShadow: false,
  explain: { forwarding: (value) => (value === undefined || isOff(value) ? undefined : namesIn(value)) },
  rules: headerErrors,
  // One edit of one field.
  entryDepth: 3,
  prepared: { variantOf: vouchedText, make: compileHeaders },
  compile: (_headers, { prepared }) => prepared,
});

function isOff(headers: HeadersPolicy): boolean {
  return DIRECTIONS.every((direction) =>
    Object.values(headers[direction] ?? {}).every((edits) => Object.keys(edits).length === 0),
  );
}

/** Without the values: the fields of the messages show them. */
function namesIn(headers: HeadersPolicy): Record<string, unknown> {
  const names = ({ set = {}, add = {}, remove = [], rename = {} }: FieldEdits) => ({
    set: Object.keys(set),
    add: Object.keys(add),
    remove,
    rename,
  });
  return {
    ...(headers.request && { request: names(headers.request) }),
    ...(headers.response && { response: names(headers.response) }),
  };
}

const NOTHING: ReadonlySet<string> = new Set();

/** The names that the route vouches for, separated by spaces: no name has one. */
function vouchedText({ policy, replaced }: EffectivePolicy): string {
  const above = (replaced?.['auth'] ?? []) as readonly AuthPolicy[];
  return [...vouchedNames([givenAuth(policy), ...above])].toSorted().join(' ');
}

function compileHeaders(headers: HeadersPolicy, names: string): PartContribution | undefined {
  if (isOff(headers)) return undefined;
  const vouched = names === '' ? NOTHING : new Set(names.split(' '));
  const requestFields = compileEdits(headers.request, { edited: vouched, read: vouched });
  const responseFields = compileEdits(headers.response, { edited: NOTHING, read: vouched });
  return { ...(requestFields && { requestFields }), ...(responseFields && { responseFields }) };
}
