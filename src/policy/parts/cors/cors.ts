/**
 * Cross-origin resource sharing (Fetch standard, section "CORS protocol"): the header lines of actual responses and
 * of the 204 that answers a preflight.
 *
 * - Origins are compared whole, scheme and host without regard to case and without default ports; `*` alone is any
 * origin; `https://*.example.com` is every name below example.com. The sender's own spelling is echoed.
 * - `allowed_methods` or `allowed_headers` absent, or with `*`: what the preflight asks for is allowed by name. The
 * wildcard itself is not sent, because browsers read it literally with credentials and never apply it to
 * `Authorization`.
 * - `Vary: Origin` is on every response whose lines depend on the origin, also when it is absent or refused.
 * - `null` is allowed when it is listed, but never with credentials: every page can send it (a sandboxed frame).
 * - `Access-Control-Request-Private-Network` is not answered: a page of the public network may not call into a
 * private one through the gateway (docs/explanation/decisions/cors.md).
 *
 * The lines of a response depend only on the origin, and nearly all requests come from a few origins: the latest
 * ones are cached with their lines, in a small table of fixed size.
 *
 * Refuses nothing: the browser prevents a page from reading what these lines do not allow.
 */
import { ownText } from '../../../http/latin1.ts';
import { parseOrigin, type ParsedOrigin } from './origin.ts';
import { GRPC_WEB_REQUEST_FIELDS, GRPC_WEB_RESPONSE_FIELDS } from '../grpc-web/part.ts';
import type { CorsPolicy } from './schema.ts';
import type { CompiledCors } from '../../stage.ts';

const REQUESTED_HEADERS_CHARS_MAX = 4096;
/** Origins whose lines are remembered, a power of two; longer origins are not. */
const REMEMBERED = 4;
const REMEMBERED_CHARS_MAX = 256;
const NO_ORIGINS: readonly (string | undefined)[] = Array.from({ length: REMEMBERED }, () => undefined);

/**
 * @param forGrpcWeb pages also get what gRPC-Web needs
 * @returns undefined when CORS is not configured or switched off with an empty list of origins
 */
export function compileCors(
  cors: CorsPolicy | null | undefined,
  forGrpcWeb = false,
): CompiledCors | undefined {
  if (!cors || cors.allowed_origins.length === 0) return undefined;
  const anyOrigin = cors.allowed_origins.includes('*');
  const matches = anyOrigin ? undefined : originMatcher(cors.allowed_origins);
  // Never credentials for any origin, however such a policy came to be stored.
  const credentials =
    cors.allow_credentials === true && !anyOrigin ? 'Access-Control-Allow-Credentials: true\r\n' : '';
  const exposes = forGrpcWeb
    ? withNames(cors.expose_headers ?? [], GRPC_WEB_RESPONSE_FIELDS)
    : cors.expose_headers;
  const exposed = exposes?.length ? `Access-Control-Expose-Headers: ${exposes.join(', ')}\r\n` : '';
  const methodsLine = fixedList('Access-Control-Allow-Methods', cors.allowed_methods, true);
  const headersLine = fixedList(
    'Access-Control-Allow-Headers',
    forGrpcWeb && cors.allowed_headers
      ? withNames(cors.allowed_headers, GRPC_WEB_REQUEST_FIELDS)
      : cors.allowed_headers,
    false,
  );
  const maxAge = cors.max_age_secs === undefined ? '' : `Access-Control-Max-Age: ${cors.max_age_secs}\r\n`;

  const grant = (origin: string): string | undefined => {
    if (matches === undefined) return 'Access-Control-Allow-Origin: *\r\n';
    if (!matches(origin)) return undefined;
    return `Access-Control-Allow-Origin: ${origin}\r\n${origin === 'null' ? '' : credentials}`;
  };
  const vary = anyOrigin ? '' : 'Vary: Origin\r\n';
  const anyOriginLines = ownText(`Access-Control-Allow-Origin: *\r\n${exposed}`);
  const preflightVary = `Vary: ${anyOrigin ? '' : 'Origin, '}Access-Control-Request-Method, Access-Control-Request-Headers\r\n`;

  const linesOf = remembering((origin) => {
    const granted = grant(origin);
    return granted === undefined ? vary : granted + exposed + vary;
  });

  return Object.freeze({
    responseLines: (origin: string | undefined): string => {
      if (anyOrigin) return anyOriginLines;
      return origin === undefined ? vary : linesOf(origin);
    },
    preflightLines: (origin: string, method: string, headers: string | undefined): string => {
      const granted = grant(origin);
      if (granted === undefined) return preflightVary;
      const methods = methodsLine ?? echo('Access-Control-Allow-Methods', method);
      const names = headersLine ?? echo('Access-Control-Allow-Headers', headers);
      return granted + methods + names + maxAge + preflightVary;
    },
  });
}

/** `make`, with the results for the latest origins kept at a place that the origin itself names. */
function remembering(make: (origin: string) => string): (origin: string) => string {
  // Created at the first use: with many policies, only few are ever used.
  let origins = NO_ORIGINS;
  let results: string[] = [];
  return (origin) => {
    const { length } = origin;
    // Origins of one operator differ in length, or where the first label begins, or in their ports.
    const place = (length + origin.charCodeAt(8) + origin.charCodeAt(length - 1)) & (REMEMBERED - 1);
    if (origins[place] === origin) return results[place]!;
    if (length > REMEMBERED_CHARS_MAX) return make(origin);
    // A copy: the origin is a slice of a whole request head, which would stay in memory.
    const own = ownText(origin);
    // In one piece: it is written with every response.
    const result = ownText(make(own));
    if (origins === NO_ORIGINS) {
      origins = [...NO_ORIGINS];
      results = Array.from({ length: REMEMBERED }, () => '');
    }
    (origins as (string | undefined)[])[place] = own;
    results[place] = result;
    return result;
  };
}

/** The list with these names added, unless it has them in any case. */
function withNames(list: readonly string[], names: readonly string[]): readonly string[] {
  if (list.includes('*')) return list;
  const has = new Set(list.map((name) => name.toLowerCase()));
  return [...list, ...names.filter((name) => !has.has(name.toLowerCase()))];
}

/** The line of a configured list, '' for an empty one; undefined when everything requested is allowed. */
function fixedList(
  name: string,
  list: readonly string[] | undefined,
  upperCase: boolean,
): string | undefined {
  if (list === undefined || list.includes('*')) return undefined;
  if (list.length === 0) return '';
  const items = upperCase ? list.map((item) => item.toUpperCase()) : list;
  return `${name}: ${items.join(', ')}\r\n`;
}

/** Grants a requested list of names: only tokens are echoed, and nothing when one item is anything else. */
function echo(name: string, requested: string | undefined): string {
  if (requested === undefined || requested.length > REQUESTED_HEADERS_CHARS_MAX) return '';
  const items: string[] = [];
  for (const part of requested.split(',')) {
    const item = part.trim();
    if (item === '') continue;
    if (!isToken(item)) return '';
    items.push(item);
  }
  return items.length === 0 ? '' : `${name}: ${items.join(', ')}\r\n`;
}

function isToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}

/** A test of an Origin value. The usual case, a value in the spelling of browsers, takes one look-up. */
function originMatcher(configured: readonly string[]): (origin: string) => boolean {
  const exact = new Set<string>();
  const wildcards: ParsedOrigin[] = [];
  for (const text of configured) {
    if (text === 'null') exact.add('null');
    const parsed = parseOrigin(text, true);
    if (parsed === undefined) continue;
    if (parsed.wildcard) wildcards.push(parsed);
    else exact.add(parsed.text);
  }
  return (origin) => {
    if (exact.has(origin)) return true;
    const parsed = parseOrigin(origin, false);
    if (parsed === undefined) return false;
    return exact.has(parsed.text) || wildcards.some((wildcard) => isBelow(parsed, wildcard));
  };
}

function isBelow(origin: ParsedOrigin, wildcard: ParsedOrigin): boolean {
  return origin.schemePart === wildcard.schemePart && origin.hostPart.endsWith(wildcard.hostPart);
}
