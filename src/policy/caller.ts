/**
 * Who calls, and the header lines that tell the upstream so. Text that others chose (key names, subjects, claims)
 * becomes a field value (RFC 9110 section 5.5) that can neither end the line nor be mistaken for another value:
 * printable ASCII stays, everything else and `%` is percent-encoded as UTF-8.
 */
import { isScopeToken } from './scope-token.ts';
import type { Caller } from './stage.ts';

/** A longer value is left out and not cut, because a part of it may be a valid other value. */
export const FIELD_VALUE_CHARS_MAX = 4096;

const NO_SCOPES: ReadonlySet<string> = new Set();

export const ANONYMOUS: Caller = Object.freeze({
  kind: 'anonymous',
  id: '',
  name: '',
  scopes: NO_SCOPES,
  claims: undefined,
  keyRateLimit: null,
  upstreamHeaderLines: '',
  usagePlace: 0,
});

/** A claim of the caller's token itself; undefined if absent or null. Names of Object.prototype are not claims. */
export function ownClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(claims, name) ? (claims[name] ?? undefined) : undefined;
}

/** `Name: value\r\n`, or '' when the encoded value is longer than `FIELD_VALUE_CHARS_MAX`. */
export function fieldLine(name: string, text: string): string {
  if (text.length > FIELD_VALUE_CHARS_MAX) return '';
  const value = fieldText(text);
  return value.length > FIELD_VALUE_CHARS_MAX ? '' : `${name}: ${value}\r\n`;
}

/** What `fieldText` leaves unchanged: nearly every name and id. */
const PLAIN = /^[!-$&-~](?:[ -$&-~]*[!-$&-~])?$/;

/**
 * Encodes any text as a field value: percent-decoding reverses it. Spaces inside the text are kept, spaces at its ends
 * are encoded.
 */
export function fieldText(text: string): string {
  if (PLAIN.test(text)) return text;
  let value = '';
  const bytes = Buffer.from(text, 'utf8');
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    const atEnd = index === 0 || index === bytes.length - 1;
    const plain = byte > 0x20 ? byte < 0x7f && byte !== 0x25 : byte === 0x20 && !atEnd;
    value += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return value;
}

/**
 * `X-Headgate-Scopes` with as many whole scopes as fit: fewer scopes than the caller has can only withhold
 * rights. Texts that are not a scope-token (RFC 6749 section 3.3) cannot be separated by spaces and are left
 * out.
 */
export function scopesLine(scopes: Iterable<string>): string {
  let value = '';
  for (const scope of scopes) {
    if (!isScopeToken(scope)) continue;
    if (value.length + 1 + scope.length > FIELD_VALUE_CHARS_MAX) break;
    value = value === '' ? scope : `${value} ${scope}`;
  }
  return value === '' ? '' : `X-Headgate-Scopes: ${value}\r\n`;
}
