/**
 * Fields and queries as explain shows them. For a described request, it masks the values of fields that look like
 * credentials: the user who describes the request knows them. For a recorded exchange, it shows only the values of
 * fields that are known to contain no credentials: the names that an API uses for its credentials cannot be guessed.
 * What looks like a credential is masked in all its texts, as in the log: a client may put its key into the path.
 */
import type { FieldSection } from '../http/heads/field-section.ts';
import { foldedName } from '../lib/folded-name.ts';
import { maskCredentials } from '../observe/log.ts';
import { REDACTED, type HeaderField } from './schema.ts';

const SECRET_NAME =
  /auth(?!enticat)|cookie|token|secret|passw|pwd|credential|session|signature|api-?_?key|x-headgate-debug/i;
/** Fields whose names look like credentials but that contain none. */
const PLAIN_NAME = /^access-control-/i;

/** In lower case. Excluded: `Referer`, which may contain a query, and `Sec-WebSocket-Protocol`, used for tokens. */
const HARMLESS_NAMES: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'access-control-request-method',
  'access-control-request-private-network',
  'cache-control',
  'connection',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'keep-alive',
  'max-forwards',
  'origin',
  'pragma',
  'priority',
  'range',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-fetch-user',
  'sec-websocket-version',
  'te',
  'traceparent',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'upgrade-insecure-requests',
  'user-agent',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-request-id',
]);

/** A field of a real exchange. */
export function recordedField({ name, value }: HeaderField): HeaderField {
  return { name, value: HARMLESS_NAMES.has(name.toLowerCase()) ? value : REDACTED };
}

/** Limit of the parameters of a query that are shown. */
const PARAMETERS_MAX = 40;
/** Other texts may be values that were written without a name. */
const PARAMETER_NAME = /^[A-Za-z0-9_.~%[\]-]{1,40}$/;

const PADDING = /^(?:=|%3d)+$/i;

/**
 * A query with the names of its parameters and without their values.
 * @param query '' or from its `?` on
 */
export function recordedQuery(query: string): string {
  if (query.length <= 1) return '';
  const parts = query.slice(1).split(/[&;]/, PARAMETERS_MAX + 1);
  const shown = parts.slice(0, PARAMETERS_MAX).map((part) => {
    const equals = part.indexOf('=');
    const name = equals < 0 ? '' : part.slice(0, equals);
    // A text without "=", or with only "=" after it, may be a whole token: base64 is padded with "=".
    const isNamed = !PADDING.test(part.slice(equals)) && PARAMETER_NAME.test(name);
    return isNamed ? `${name}=${REDACTED}` : REDACTED;
  });
  return `?${shown.join('&')}${parts.length > PARAMETERS_MAX ? '&...' : ''}`;
}

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !PLAIN_NAME.test(name);
}

/** @param place folded name of the field that contains the credential of the route */
export function shownField(name: string, value: string, place?: string): HeaderField {
  const isSecret = isSecretName(name) || (place !== undefined && foldedName(name) === place);
  return { name, value: isSecret ? REDACTED : value };
}

/** Shorter ones are compared whole: they are part of many values. */
const REPEATED_CHARS_MIN = 8;

/**
 * The same fields, with every value masked that repeats one of `secrets`: a policy may write a field under
 * another name.
 */
export function withoutRepeated(fields: readonly HeaderField[], secrets: readonly string[]): HeaderField[] {
  const repeats = (value: string): boolean =>
    secrets.some((secret) =>
      secret.length < REPEATED_CHARS_MIN ? value === secret : value.includes(secret),
    );
  return fields.map(({ name, value }) => ({ name, value: repeats(value) ? REDACTED : value }));
}

/** A copy of plain data in which all texts are masked as in the log. */
export function withoutCredentials<T>(value: T): T {
  if (typeof value === 'string') return maskCredentials(value) as T;
  if (Array.isArray(value)) return value.map((each: unknown) => withoutCredentials(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutCredentials<unknown>(member)]);
  return Object.fromEntries(members) as T;
}

/** The fields of a head that was read without an error. */
export function fieldsOf(head: FieldSection, place?: string): HeaderField[] {
  const fields: HeaderField[] = [];
  for (let index = 0; index < head.count; index++)
    fields.push(shownField(head.name(index), head.value(index), place));
  return fields;
}

/** The fields of header lines that the gateway has written, each `Name: value` and CRLF. */
export function fieldsOfLines(lines: string, place?: string): HeaderField[] {
  const fields: HeaderField[] = [];
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.push(shownField(line.slice(0, colon), line.slice(colon + 1).trim(), place));
  }
  return fields;
}
