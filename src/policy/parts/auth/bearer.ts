/**
 * Bearer credentials: reading `Authorization` (RFC 9110 section 11.6.2, RFC 6750 section 2.1) and writing the
 * challenges that go with 401 and 403 (RFC 6750 section 3). Credentials of other schemes are none of the
 * gateway's: they count as absent and are forwarded.
 *
 * Where a policy has credentials in another field, `Bearer` would tell clients to send what is not read. The challenge
 * then has the scheme `ApiKey` or `JWT`, neither of which is registered, and names the field in `header`; its other
 * parameters are those of RFC 6750.
 */
import { isScopeToken } from '../../caller.ts';
import type { Denial } from '../../stage.ts';

/**
 * Where the token starts in a field value of the scheme `Bearer` (in any case), or 0 for another scheme or none.
 * A value that is `Bearer` alone gives its length: an empty token.
 */
export function tokenStart(authorization: string): number {
  if (authorization.length < 6) return 0;
  // `bearer`, letter by letter: setting bit 0x20 of an ASCII letter makes it lower case.
  if (
    (authorization.charCodeAt(0) | 0x20) !== 0x62 ||
    (authorization.charCodeAt(1) | 0x20) !== 0x65 ||
    (authorization.charCodeAt(2) | 0x20) !== 0x61 ||
    (authorization.charCodeAt(3) | 0x20) !== 0x72 ||
    (authorization.charCodeAt(4) | 0x20) !== 0x65 ||
    (authorization.charCodeAt(5) | 0x20) !== 0x72
  ) {
    return 0;
  }
  let at = 6;
  while (authorization.charCodeAt(at) === 0x20) at++;
  return at > 6 || at === authorization.length ? at : 0;
}

/** The challenge lines and denials of one protection space; made once per policy. */
export interface Challenges {
  /** Nothing was sent: no `error` (RFC 6750 section 3.1). */
  readonly missing: Denial;
  /** @param detail plain ASCII without quotes, shown to the client */
  invalid(detail: string): Denial;
  /** @param scopes all scopes that the resource requires, in order */
  insufficientScope(scopes: readonly string[], detail: string): Denial;
  missingClaim(detail: string): Denial;
}

/** Of a credential that is not in Authorization. */
export interface ChallengedField {
  readonly name: string;
  readonly isJwt: boolean;
}

/**
 * @param realm the app's slug: keys and tokens are valid for one app
 * @param field undefined for Authorization
 */
export function challenges(realm: string, field?: ChallengedField): Challenges {
  const scheme = `WWW-Authenticate: ${schemeOf(field)} realm=${quoted(realm)}${
    field === undefined ? '' : `, header=${quoted(field.name)}`
  }`;
  return Object.freeze({
    missing: Object.freeze({
      code: 'credentials_missing',
      detail:
        field === undefined
          ? 'The request needs an Authorization header with a bearer token'
          : `The request needs the header ${field.name} with ${field.isJwt ? 'a JWT' : 'an API key'}`,
      headerLines: `${scheme}\r\n`,
    }),
    invalid: (detail: string): Denial => ({
      code: 'credentials_invalid',
      detail,
      headerLines: `${scheme}, error="invalid_token", error_description=${quoted(detail)}\r\n`,
    }),
    insufficientScope: (scopes: readonly string[], detail: string): Denial => ({
      code: 'insufficient_scope',
      detail,
      headerLines: `${scheme}, error="insufficient_scope"${scopeAttribute(scopes)}\r\n`,
    }),
    missingClaim: (detail: string): Denial => ({
      code: 'missing_claim',
      detail,
      headerLines: `${scheme}, error="insufficient_scope", error_description=${quoted(detail)}\r\n`,
    }),
  });
}

function schemeOf(field: ChallengedField | undefined): string {
  if (field === undefined) return 'Bearer';
  return field.isJwt ? 'JWT' : 'ApiKey';
}

/** RFC 6750 section 3: the scopes with spaces between them; left out when there is one that this cannot express. */
function scopeAttribute(scopes: readonly string[]): string {
  return scopes.every(isScopeToken) ? `, scope=${quoted(scopes.join(' '))}` : '';
}

/** RFC 9110 section 5.6.4 `quoted-string`; what is not printable ASCII becomes `?`. */
function quoted(text: string): string {
  let value = '"';
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e) value += '?';
    else if (code === 0x22 || code === 0x5c) value += `\\${text.charAt(index)}`;
    else value += text.charAt(index);
  }
  return `${value}"`;
}
