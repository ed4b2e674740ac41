/**
 * The cookies with which browsers are signed in to the management API (RFC 6265). A cookie belongs to a host and not to
 * a port, so a browser that is signed in sends them to the traffic port of the same host as well. They are credentials
 * for the gateway alone: what reads a request there never sees them. And a backend could set them, which would sign the
 * browser in as someone else or out: no response sets them there. Pure.
 */

/** The cookie of a session. */
export const SESSION_COOKIE = 'headgate_session';
/** The cookie of a sign-in with an OpenID provider that is under way. */
export const SIGN_IN_COOKIE = 'headgate_oidc';
/** With this prefix, browsers accept a cookie only over TLS and from the host itself. */
export const HOST_PREFIX = '__Host-';

const NAMES: ReadonlySet<string> = new Set(
  [SESSION_COOKIE, SIGN_IN_COOKIE].flatMap((name) => [name, HOST_PREFIX + name]),
);
/** A text that all names contain. */
const COMMON = 'headgate_';

/**
 * A value of `Cookie` without those cookies; the others stay unchanged. Names are compared with their case, as
 * in the management API.
 * @returns undefined when it contains none of them
 */
export function withoutConsoleCookies(value: string): string | undefined {
  if (!value.includes(COMMON)) return undefined;
  const pairs = value.split(';');
  const others = pairs.filter((pair) => !NAMES.has(cookieName(pair)));
  return others.length === pairs.length ? undefined : others.join(';').trim();
}

/**
 * Whether a value of `Set-Cookie` sets one of those cookies. Of a cookie without a name, browsers send the value alone,
 * which then reads as a name and its value.
 */
export function setsConsoleCookie(value: string): boolean {
  if (!value.includes(COMMON)) return false;
  const end = value.indexOf(';');
  const pair = end < 0 ? value : value.slice(0, end);
  return NAMES.has(cookieName(pair.replace(/^[=\s]+/, '')));
}

/** The name without white space around it. A pair without "=" is only a name. */
function cookieName(pair: string): string {
  const equals = pair.indexOf('=');
  return (equals < 0 ? pair : pair.slice(0, equals)).trim();
}
