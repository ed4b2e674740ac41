/**
 * The record of a recent request, from which a planned configuration can be tried (replay/): only what decides the
 * answer. Not stored: queries, bodies, credentials, and values of fields other than those in `KEPT_VALUES`. A
 * credential is stored as its owner: the id of an API key, or subject, issuer, audience, scopes and the names of
 * claims of a verified JWT.
 *
 * A record is one text of lines, so that it fits into a reused buffer (traffic-ring.ts) and equal requests are equal
 * texts. Pure.
 */
import { tokenDigest } from '../../model/token.ts';
import { authOf } from '../../policy/parts/auth/auth-of.ts';
import { isApiKey } from '../../policy/parts/auth/api-key.ts';
import { tokenStart } from '../../policy/parts/auth/bearer.ts';
import { mayCarryCredential } from '../../policy/parts/auth/credential-header.ts';
import type { Caller } from '../../policy/stage.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';

/** The credential in a field, by its owner. */
export type Credential =
  | { readonly kind: 'key'; readonly id: string }
  | { readonly kind: 'jwt'; readonly token: VerifiedToken }
  /** A bearer token that is not a key of this gateway; `isOwn`: it has the form of one. */
  | { readonly kind: 'bearer'; readonly isOwn: boolean }
  /** A bearer token that a policy refused as a JWT. */
  | { readonly kind: 'refused_jwt' }
  /** A scheme other than Bearer. */
  | { readonly kind: 'foreign' }
  /** A value that no policy required. */
  | { readonly kind: 'unread' };

export interface VerifiedToken {
  readonly sub: string;
  readonly scopes: readonly string[];
  readonly iss?: unknown;
  readonly aud?: unknown;
  /** Names of all claims that are not null. */
  readonly claims: readonly string[];
}

type RecordedField =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly credential: Credential };

export interface RecordedRequest {
  readonly method: string;
  /** '' when there is none. */
  readonly host: string;
  /** Canonical, without a query. */
  readonly path: string;
  readonly clientIp: string;
  readonly bodyBytes: number;
  readonly fields: readonly RecordedField[];
}

export interface TrafficRecord {
  readonly startedMs: number;
  readonly status: number;
  /** '' when the backend answered. */
  readonly code: string;
  readonly forwarded: boolean;
  /** Id of the version that served it; '' for none. */
  readonly versionId: string;
  /** The lines of the request: equal for requests that are not distinguished. */
  readonly request: string;
}

/** In lower case. */
const KEPT_VALUES: ReadonlySet<string> = new Set([
  'access-control-request-headers',
  'access-control-request-method',
  'max-forwards',
  'origin',
]);
const AUTHORIZATION = 'authorization';
const FIELDS_MAX = 40;
/** Lines about the answer, which come before the lines of the request. */
const ANSWER_LINES = 5;
const REQUEST_LINES = 5;

export interface FindKeyId {
  /** @param digest result of `tokenDigest` */
  (digest: string): string | undefined;
}

/** undefined for an exchange whose head or path could not be read: no configuration changes its answer. */
export function recordOf(exchange: ExchangeView, findKeyId: FindKeyId): string | undefined {
  const { method, path, connection } = exchange;
  if (method === '' || !path.startsWith('/')) return undefined;
  if (exchange.errorCode === 'bad_path' && exchange.version === undefined) return undefined;
  const { head } = connection;
  const bodyBytes = Math.max(exchange.announcedBytes, exchange.bytesIn, 0);
  const lines = [
    exchange.startedAtMs.toString(36),
    String(exchange.status),
    exchange.errorCode ?? '',
    exchange.attempts === undefined ? '' : '1',
    exchange.version?.id ?? '',
    method,
    head.host,
    path,
    exchange.clientIp,
    String(bodyBytes),
  ];
  const place = exchange.route?.policy.credentialPlace?.lowerName ?? AUTHORIZATION;
  const count = Math.min(head.count, FIELDS_MAX);
  for (let index = 0; index < count; index++) {
    const name = head.name(index).toLowerCase();
    if (KEPT_VALUES.has(name)) lines.push(`${name}=${head.value(index)}`);
    else if (name === place || name === AUTHORIZATION)
      lines.push(`${name}:${credentialText(exchange, name === place, name, head.value(index), findKeyId)}`);
    else if (isCarrier(name)) lines.push(`${name}:?`);
  }
  return lines.join('\n');
}

/** Limit of the names whose answer is kept, since a client may send any name. */
const CARRIERS_MAX = 1_000;
const carriers = new Map<string, boolean>();

/** Whether a policy could ask for the field as a credential. */
function isCarrier(name: string): boolean {
  const known = carriers.get(name);
  if (known !== undefined) return known;
  const answer = mayCarryCredential(name);
  if (carriers.size >= CARRIERS_MAX) carriers.clear();
  carriers.set(name, answer);
  return answer;
}

/** One character for the kind, and the known facts. */
function credentialText(
  { evaluation: { caller, refusedKeyId }, route }: ExchangeView,
  isAsked: boolean,
  name: string,
  value: string,
  findKeyId: FindKeyId,
): string {
  if (isAsked && caller.kind === 'jwt') return `j${JSON.stringify(tokenOf(caller))}`;
  if (isAsked && caller.kind === 'api_key') return `k${caller.id}`;
  if (isAsked && refusedKeyId !== '') return `k${refusedKeyId}`;
  const start = tokenStart(value);
  if (name === AUTHORIZATION && start === 0) return 'f';
  const token = value.slice(start);
  const keyId = findKeyId(tokenDigest(token));
  if (keyId !== undefined) return `k${keyId}`;
  if (isApiKey(token)) return 'o';
  const isForJwt =
    isAsked && route !== undefined && authOf(route.policy.effective.policy)?.auth_type === 'jwt';
  return isForJwt ? 'r' : 'b';
}

function tokenOf({ id, scopes, claims = {} }: Caller): VerifiedToken {
  const names = Object.keys(claims).filter((name) => claims[name] !== null);
  return { sub: id, scopes: [...scopes], iss: claims['iss'], aud: claims['aud'], claims: names };
}

/** Reads what `recordOf` wrote. */
export function readRecord(text: string): TrafficRecord {
  const [startedMs = '', status, code = '', forwarded, versionId = ''] = text.split('\n', ANSWER_LINES);
  let at = 0;
  for (let line = 0; line < ANSWER_LINES; line++) at = text.indexOf('\n', at) + 1;
  return {
    startedMs: parseInt(startedMs, 36),
    status: Number(status),
    code,
    forwarded: forwarded === '1',
    versionId,
    request: text.slice(at),
  };
}

/** Ids of the versions that served records. */
export function versionIdsOf(records: readonly string[]): Set<string> {
  return new Set(records.map((text) => text.split('\n', ANSWER_LINES)[ANSWER_LINES - 1] ?? ''));
}

const KEY_LINE = /^[^=:\n]+:k([0-9a-f-]{36})$/gm;

/** Ids of the keys that records name. */
export function keyIdsOf(records: readonly string[]): Set<string> {
  const ids = new Set<string>();
  for (const text of records) for (const [, id = ''] of text.matchAll(KEY_LINE)) ids.add(id);
  return ids;
}

/** @param request in the format of `TrafficRecord` */
export function readRequest(request: string): RecordedRequest {
  const lines = request.split('\n');
  const [method = '', host = '', path = '', clientIp = '', bodyBytes] = lines;
  const fields = lines.slice(REQUEST_LINES).map(readField);
  return { method, host, path, clientIp, bodyBytes: Number(bodyBytes), fields };
}

function readField(line: string): RecordedField {
  // A field name has neither.
  const end = line.search(/[=:]/);
  const name = line.slice(0, end);
  const rest = line.slice(end + 1);
  return line[end] === '=' ? { name, value: rest } : { name, credential: readCredential(rest) };
}

function readCredential(text: string): Credential {
  switch (text[0]) {
    case 'k':
      return { kind: 'key', id: text.slice(1) };
    case 'j':
      return { kind: 'jwt', token: JSON.parse(text.slice(1)) as VerifiedToken };
    case 'o':
    case 'b':
      return { kind: 'bearer', isOwn: text[0] === 'o' };
    case 'r':
      return { kind: 'refused_jwt' };
    case 'f':
      return { kind: 'foreign' };
    default:
      return { kind: 'unread' };
  }
}
