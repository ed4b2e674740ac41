/** Traefik's middleware `headers`: header fields, security headers and CORS. */
import type { Item } from '../imported-route.ts';
import { literalValue } from '../literal-value.ts';
import type { SourceNode } from '../source.ts';

/** Members that switch a header field on, and the field that they set. */
const SWITCHES: Readonly<Record<string, readonly [string, string]>> = {
  frameDeny: ['X-Frame-Options', 'DENY'],
  contentTypeNosniff: ['X-Content-Type-Options', 'nosniff'],
  browserXssFilter: ['X-XSS-Protection', '1; mode=block'],
};
/** Members that contain the value of a header field. */
const VALUES: Readonly<Record<string, string>> = {
  customFrameOptionsValue: 'X-Frame-Options',
  customBrowserXSSValue: 'X-XSS-Protection',
  contentSecurityPolicy: 'Content-Security-Policy',
  contentSecurityPolicyReportOnly: 'Content-Security-Policy-Report-Only',
  referrerPolicy: 'Referrer-Policy',
  permissionsPolicy: 'Permissions-Policy',
};

export function headersOf(node: SourceNode): Item {
  const request = customOf(node, 'customRequestHeaders');
  const response = customOf(node, 'customResponseHeaders');
  const security = securityOf(node);
  const set = { ...response.set, ...security };
  const edits = {
    ...directionOf('request', request.set, request.remove),
    ...directionOf('response', set, response.remove),
  };
  const cors = corsOf(node);
  return {
    ...(Object.keys(edits).length > 0 && { headers: edits }),
    ...(cors !== undefined && { cors }),
  };
}

function directionOf(
  direction: string,
  set: Readonly<Record<string, string>>,
  remove: readonly string[],
): Item {
  const edits = {
    ...(Object.keys(set).length > 0 && { set }),
    ...(remove.length > 0 && { remove }),
  };
  return Object.keys(edits).length === 0 ? {} : { [direction]: edits };
}

/** An empty value removes a field. */
function customOf(node: SourceNode, name: string): { set: Record<string, string>; remove: string[] } {
  const custom = node.child(name);
  const set: Record<string, string> = {};
  const remove: string[] = [];
  for (const field of custom?.names ?? []) {
    const value = custom?.text(field);
    if (value === undefined) continue;
    if (value === '') remove.push(field);
    else set[field] = literalValue(value);
  }
  return { set, remove };
}

function securityOf(node: SourceNode): Record<string, string> {
  const set: Record<string, string> = {};
  for (const [name, [field, value]] of Object.entries(SWITCHES))
    if (node.boolean(name) === true) set[field] = value;
  for (const [name, field] of Object.entries(VALUES)) {
    const value = node.text(name);
    if (value !== undefined && value !== '') set[field] = literalValue(value);
  }
  const seconds = node.number('stsSeconds') ?? 0;
  const domains = node.boolean('stsIncludeSubdomains') === true ? '; includeSubDomains' : '';
  const preload = node.boolean('stsPreload') === true ? '; preload' : '';
  if (seconds > 0) set['Strict-Transport-Security'] = `max-age=${seconds}${domains}${preload}`;
  else if (domains + preload !== '') node.changed('has no effect without stsSeconds');
  if (node.boolean('forceSTSHeader') === false || (seconds > 0 && !node.has('forceSTSHeader')))
    node.changed('is set on every answer, also without TLS', undefined, 'stsSeconds');
  return set;
}

const CORS_FIELDS: Readonly<Record<string, string>> = {
  accessControlAllowMethods: 'allowed_methods',
  accessControlAllowHeaders: 'allowed_headers',
  accessControlExposeHeaders: 'expose_headers',
};

function corsOf(node: SourceNode): Item | undefined {
  const origins = (node.texts('accessControlAllowOriginList') ?? []).map(({ text }) => text);
  for (const item of node.texts('accessControlAllowOriginListRegex') ?? [])
    item.node.lost('is a regular expression, and origins are a list here', '`https://*.example.com`');
  const lists = Object.entries(CORS_FIELDS).flatMap(([name, field]) => {
    const items = (node.texts(name) ?? []).map(({ text }) => text);
    return items.length === 0 || items.includes('*') ? [] : [[field, [...new Set(items)]] as const];
  });
  const credentials = node.boolean('accessControlAllowCredentials') === true;
  const maxAge = node.number('accessControlMaxAge');
  node.noEffect('is always sent where it has to be', 'addVaryHeader');
  if (origins.length === 0) {
    if (lists.length > 0 || credentials) node.lost('names no origin for CORS', '`cors`');
    return undefined;
  }
  const all = origins.includes('*');
  if (all && credentials)
    node.lost('is never granted to all origins', 'a list of origins', 'accessControlAllowCredentials');
  return {
    allowed_origins: all ? ['*'] : [...new Set(origins)],
    ...Object.fromEntries(lists),
    ...(credentials && !all && { allow_credentials: true }),
    ...(maxAge !== undefined && { max_age_secs: Math.min(31_536_000, Math.max(0, Math.round(maxAge))) }),
  };
}
