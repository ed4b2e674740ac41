/**
 * The cookie of a session (RFC 6265): its name, how it is read from `Cookie` and how it is set. Under TLS the name has
 * the prefix `__Host-`, with which browsers accept it only from this host itself and over TLS.
 */
import { HOST_PREFIX, SESSION_COOKIE } from '../../http/fields/console-cookies.ts';
import { secretBytes } from '../../lib/ids.ts';

const VALUE_BYTES = 32;
const VALUE = /^[A-Za-z0-9_-]{43}$/;

export interface CookieStyle {
  readonly name: string;
  readonly isSecure: boolean;
}

export const sessionCookieStyle = (isSecure: boolean): CookieStyle => cookieStyle(SESSION_COOKIE, isSecure);

export function cookieStyle(name: string, isSecure: boolean): CookieStyle {
  return { name: isSecure ? HOST_PREFIX + name : name, isSecure };
}

/** 256 random bits as base64url. */
export function newCookieValue(): string {
  return secretBytes(VALUE_BYTES).toString('base64url');
}

/**
 * The values of a cookie in the order of the field. Names are compared with their case; values are not
 * unquoted, so that a quoted one differs from the same text without quotes.
 * @param field `Cookie`; several fields joined with "; " as Node does
 */
export function cookieValues(field: string | undefined, { name }: CookieStyle): string[] {
  if (field === undefined) return [];
  return field.split(';').flatMap((pair) => {
    const split = pair.indexOf('=');
    if (split < 0 || pair.slice(0, split).trim() !== name) return [];
    return [pair.slice(split + 1).trim()];
  });
}

/**
 * The value of the session's cookie; `absent`, or why it cannot be one. Of two cookies with the name one may come from
 * another site of the same domain, so neither is taken.
 */
export function presentedSession(
  field: string | undefined,
  style: CookieStyle,
): { readonly value: string } | { readonly problem: string } | 'absent' {
  const [value, ...others] = cookieValues(field, style);
  if (value === undefined) return 'absent';
  if (others.length > 0) return { problem: `there is more than one cookie "${style.name}"` };
  return VALUE.test(value) ? { value } : { problem: 'the session cookie is malformed' };
}

/**
 * A `Set-Cookie` field.
 * @param sameSite `Lax` only where another site must be able to send the browser back
 * @param maxAgeSecs absent: until the browser ends
 */
export function setCookie(
  { name, isSecure }: CookieStyle,
  value: string,
  { sameSite, maxAgeSecs }: { readonly sameSite: 'Strict' | 'Lax'; readonly maxAgeSecs?: number },
): string {
  const age = maxAgeSecs === undefined ? '' : `; Max-Age=${maxAgeSecs}`;
  return `${name}=${value}; HttpOnly; SameSite=${sameSite}; Path=/${age}${isSecure ? '; Secure' : ''}`;
}

/** A `Set-Cookie` field that makes the browser drop the cookie. */
export const clearCookie = (style: CookieStyle, sameSite: 'Strict' | 'Lax'): string =>
  setCookie(style, '', { sameSite, maxAgeSecs: 0 });
