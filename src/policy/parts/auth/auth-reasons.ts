/**
 * Why authentication and authorisation refuse a request, with the challenges of 401 and 403 (RFC 6750 section 3).
 *
 * If a policy has credentials in another field than Authorization, `Bearer` would name a field that is not read. The
 * challenge then has the scheme `ApiKey` or `JWT`, neither of which is registered, and names the field in `header`; its
 * other parameters are those of RFC 6750.
 */
import type { ReasonKind } from '../../../model/reason.ts';
import { isScopeToken } from '../../scope-token.ts';

export const JWT_CHARS_MAX = 8192;

/** Plain ASCII without quotes, since the client gets the text in `error_description`. */
const PROBLEMS = {
  key_malformed: 'The API key is malformed: it was mistyped or cut off, or is something else',
  key_unknown: 'The API key is not known',
  key_of_other_app: 'The API key belongs to another app',
  key_disabled: 'The API key is disabled',
  key_expired: 'The API key has expired',
  token_too_long: `The token is longer than ${JWT_CHARS_MAX} characters`,
  token_not_compact: 'The token is not a JWT in compact form',
  token_header: 'The token has no valid header',
  token_algorithm: 'The algorithm of the token is not accepted',
  token_extensions: 'The token has critical extensions, which are not supported',
  token_type: 'The token has a type that is not accepted',
  token_key_id: 'The key id is not valid',
  token_payload: 'The payload of the token is not a JSON object with unique names',
  token_issuer: 'The token is from another issuer',
  token_audience: 'The token is for another audience',
  token_exp: 'The claim exp is not a number',
  token_nbf: 'The claim nbf is not a number',
  token_iat: 'The claim iat is not a number',
  token_expired: 'The token has expired',
  token_not_yet_valid: 'The token is not valid yet',
  token_signature: 'The signature of the token is not valid',
  token_key_unknown: 'The token is signed with an unknown key',
  no_keys: 'No keys that verify tokens are configured',
  repeated_field: 'The request has more than one',
} as const;

/** Why a credential is refused. */
export type CredentialProblem = keyof typeof PROBLEMS;

/** The protection space of a challenge. */
export interface Challenge {
  /** The app's slug: keys and tokens are valid for one app. */
  readonly realm: string;
  /** undefined for Authorization. */
  readonly field: { readonly name: string; readonly isJwt: boolean } | undefined;
  /** The credential is a client certificate. */
  readonly isCertificate: boolean;
}

export interface Challenged {
  readonly challenge: Challenge;
}

/** No credential was sent: no `error` (RFC 6750 section 3.1). */
export const CREDENTIALS_MISSING: ReasonKind<Challenged & { readonly canAuthenticate: boolean }> = {
  code: 'credentials_missing',
  detail: ({ challenge, canAuthenticate }) =>
    canAuthenticate
      ? neededCredential(challenge)
      : 'The route requires scopes, but with its auth_type "none" no caller can be identified',
  sentence: ({ challenge }) => neededCredential(challenge),
  headerLines: ({ challenge }) => challengeLine(challenge),
};

export interface InvalidCredential extends Challenged {
  readonly problem: CredentialProblem;
}

export const CREDENTIALS_INVALID: ReasonKind<InvalidCredential> = {
  code: 'credentials_invalid',
  detail: problemText,
  headerLines: (data) =>
    challengeLine(data.challenge, `, error="invalid_token", error_description=${quoted(problemText(data))}`),
};

/** No key set could be fetched yet, so the token cannot be checked. */
export const KEYS_UNAVAILABLE: ReasonKind<{ readonly retryAfterSecs: number }> = {
  code: 'jwt_keys_unavailable',
  detail: () => 'No key set that verifies tokens could be fetched yet',
  sentence: () => 'The keys that verify tokens are not available at the moment',
  retryAfterSecs: ({ retryAfterSecs }) => retryAfterSecs,
};

export interface MissingScopes extends Challenged {
  /** All scopes that the route requires, in order. */
  readonly required: readonly string[];
  /** The required scopes that the caller lacks, at least one. */
  readonly missing: readonly string[];
}

export const INSUFFICIENT_SCOPE: ReasonKind<MissingScopes> = {
  code: 'insufficient_scope',
  detail: ({ missing }) => `The credential lacks the scope "${missing[0]}"`,
  headerLines: ({ challenge, required }) =>
    challengeLine(challenge, `, error="insufficient_scope"${scopeAttribute(required)}`),
};

const claimText = ({ claim }: { readonly claim: string }): string => `The token lacks the claim "${claim}"`;

export const MISSING_CLAIM: ReasonKind<Challenged & { readonly claim: string }> = {
  code: 'missing_claim',
  detail: claimText,
  headerLines: (data) =>
    challengeLine(
      data.challenge,
      `, error="insufficient_scope", error_description=${quoted(claimText(data))}`,
    ),
};

function neededCredential({ field, isCertificate }: Challenge): string {
  if (isCertificate) return 'The request needs an accepted client certificate';
  if (field === undefined) return 'The request needs an Authorization header with a bearer token';
  return `The request needs the header ${field.name} with ${field.isJwt ? 'a JWT' : 'an API key'}`;
}

function problemText({ problem, challenge }: InvalidCredential): string {
  const text = PROBLEMS[problem];
  return problem === 'repeated_field' ? `${text} ${challenge.field?.name ?? 'Authorization'}` : text;
}

function challengeLine({ realm, field, isCertificate }: Challenge, parameters = ''): string {
  const inField = field?.isJwt === true ? 'JWT' : 'ApiKey';
  const scheme = isCertificate ? 'ClientCertificate' : field === undefined ? 'Bearer' : inField;
  const place = field === undefined ? '' : `, header=${quoted(field.name)}`;
  return `WWW-Authenticate: ${scheme} realm=${quoted(realm)}${place}${parameters}\r\n`;
}

/** RFC 6750 section 3: the scopes separated by spaces; left out if one cannot be expressed in this form. */
function scopeAttribute(scopes: readonly string[]): string {
  return scopes.every(isScopeToken) ? `, scope=${quoted(scopes.join(' '))}` : '';
}

/** RFC 9110 section 5.6.4 `quoted-string`; characters outside printable ASCII become `?`. */
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
