/**
 * Names of fields that the part may not touch: those that frame or route a message, and those whose values the gateway
 * itself provides. All names are compared as `foldedName` gives them, so that no other spelling gets past. Pure.
 */
import { HeaderKind, headerKindOf } from '../../../http/heads/header-kind.ts';
import { foldedName } from '../../../lib/folded-name.ts';
import type { AuthPolicy } from '../auth/schema.ts';
import type { Direction } from './schema.ts';

/** `write`: set, add, or the new name of a rename. `pass`: removed, or the old name of a rename. */
export type NameUse = 'write' | 'pass';

const MANAGED: ReadonlySet<HeaderKind> = new Set([
  HeaderKind.hopByHop,
  HeaderKind.connection,
  HeaderKind.upgrade,
  HeaderKind.transferEncoding,
  HeaderKind.contentLength,
  HeaderKind.trailer,
  HeaderKind.host,
  HeaderKind.expect,
  HeaderKind.requestId,
  HeaderKind.via,
  HeaderKind.traceparent,
  HeaderKind.tracestate,
  HeaderKind.date,
  HeaderKind.headgate,
]);
/** In requests: fields in which the gateway describes the way of the request, and fields that it never forwards. */
const MANAGED_IN_REQUESTS: ReadonlySet<HeaderKind> = new Set([
  HeaderKind.forwarded,
  HeaderKind.forwardedFor,
  HeaderKind.forwardedProto,
  HeaderKind.forwardedHost,
  HeaderKind.forwardedOther,
  HeaderKind.realIp,
  HeaderKind.targetOverride,
]);
/** Names without a separate kind: fields about the coding and range of content, and a counter of the gateway. */
const MANAGED_NAMES: ReadonlySet<string> = new Set(['content-encoding', 'content-range', 'max-forwards']);
const HANDSHAKE_PREFIX = 'sec-websocket-';

/** Why a policy cannot use the name in this way, or undefined. The text follows a colon. */
export function fieldNameError(name: string, direction: Direction, use: NameUse): string | undefined {
  const folded = foldedName(name);
  const kind = headerKindOf(folded);
  const isManaged = MANAGED.has(kind) || MANAGED_NAMES.has(folded) || folded.startsWith(HANDSHAKE_PREFIX);
  if (isManaged || (direction === 'request' && MANAGED_IN_REQUESTS.has(kind)))
    return 'the gateway manages it';
  if (use === 'pass') return undefined;
  return direction === 'request' ? requestWriteError(folded, kind) : responseWriteError(folded, kind);
}

function requestWriteError(folded: string, kind: HeaderKind): string | undefined {
  if (kind === HeaderKind.authorization || folded === 'cookie') return 'it carries credentials of the client';
  if (folded.startsWith('sec-')) return 'only browsers may set it';
  return kind === HeaderKind.ordinary && !folded.startsWith('ratelimit')
    ? undefined
    : 'the gateway manages it';
}

const SET_IN_RESPONSES: ReadonlySet<HeaderKind> = new Set([
  HeaderKind.accessControl,
  HeaderKind.accessControlRequestMethod,
  HeaderKind.accessControlRequestHeaders,
  HeaderKind.deprecation,
  HeaderKind.sunset,
  HeaderKind.rateLimit,
]);

function responseWriteError(folded: string, kind: HeaderKind): string | undefined {
  return SET_IN_RESPONSES.has(kind) || folded.startsWith('ratelimit') ? 'the gateway manages it' : undefined;
}

const READABLE: ReadonlySet<HeaderKind> = new Set([
  HeaderKind.ordinary,
  HeaderKind.host,
  HeaderKind.origin,
  HeaderKind.accessControlRequestMethod,
  HeaderKind.accessControlRequestHeaders,
]);

/** Why a template cannot read the request's field of this name, or undefined. */
export function sourceNameError(name: string): string | undefined {
  const folded = foldedName(name);
  const kind = headerKindOf(folded);
  if (kind === HeaderKind.authorization || folded === 'cookie') return 'it carries credentials';
  return READABLE.has(kind) ? undefined : 'the backend does not get this field from a client';
}

/**
 * Fields, as `foldedName` returns them, from which some `auth` reads the credential or to which it writes
 * claims: only that part writes them, and no other field may contain them.
 */
export function vouchedNames(auths: readonly (AuthPolicy | null | undefined)[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const auth of auths) {
    if (auth?.in !== undefined) names.add(foldedName(auth.in));
    for (const name of Object.values(auth?.jwt?.claims_to_headers ?? {})) names.add(foldedName(name));
  }
  return names;
}
