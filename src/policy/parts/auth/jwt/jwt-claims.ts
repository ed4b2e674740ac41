/**
 * The registered claims (RFC 7519 section 4.1) of a token with a valid signature: issuer, audience, times; the scopes
 * (RFC 8693 section 4.2 `scope`, or `scp`); and the caller from these claims.
 */
import { fieldLine, ownClaim, scopesLine } from '../../../caller.ts';
import type { CredentialProblem } from '../auth-reasons.ts';
import type { JwtVerification } from './jwt-settings.ts';
import type { Claims } from './jwt-token.ts';
import type { Caller } from '../../../stage.ts';

/** When a token is valid, Unix milliseconds, including leeway: from `validFromMs`, before `expiresAtMs`. */
export interface Validity {
  readonly validFromMs: number;
  readonly expiresAtMs: number;
}

/** Why the token is refused now, or undefined. `exp` itself is already too late (section 4.1.4). */
export function timeRefusal(validity: Validity, nowMs: number): CredentialProblem | undefined {
  if (nowMs >= validity.expiresAtMs) return 'token_expired';
  return nowMs < validity.validFromMs ? 'token_not_yet_valid' : undefined;
}

/** Checks what does not depend on the time. @returns when the token is valid, or why it never is */
export function checkClaims(claims: Claims, verification: JwtVerification): Validity | CredentialProblem {
  const { issuer, audiences, leewayMs } = verification;
  if (issuer !== undefined && claims['iss'] !== issuer) return 'token_issuer';
  if (audiences.length > 0 && !hasAudience(claims['aud'], audiences)) return 'token_audience';
  for (const name of ['exp', 'nbf', 'iat'] as const) {
    if (claims[name] !== undefined && !Number.isFinite(claims[name])) return `token_${name}`;
  }
  const { exp, nbf } = claims;
  return {
    validFromMs: typeof nbf === 'number' ? nbf * 1000 - leewayMs : -Infinity,
    expiresAtMs: typeof exp === 'number' ? exp * 1000 + leewayMs : Infinity,
  };
}

function hasAudience(aud: unknown, accepted: readonly string[]): boolean {
  if (typeof aud === 'string') return accepted.includes(aud);
  return Array.isArray(aud) && aud.some((item) => typeof item === 'string' && accepted.includes(item));
}

export function callerOf(claims: Claims, verification: JwtVerification): Caller {
  const subject = typeof claims['sub'] === 'string' ? claims['sub'] : '';
  const scopes = scopesOf(claims);
  let lines = (subject === '' ? '' : fieldLine('X-Headgate-Subject', subject)) + scopesLine(scopes);
  for (const [claim, header] of verification.claimHeaders)
    lines += claimLine(header, ownClaim(claims, claim));
  return Object.freeze({
    kind: 'jwt',
    id: subject,
    name: '',
    scopes,
    claims,
    keyRateLimit: null,
    upstreamHeaderLines: lines,
    usagePlace: 0,
  });
}

/** Strings, numbers and booleans unchanged; lists and objects as JSON, so that no separator can be forged. */
function claimLine(header: string, value: unknown): string {
  if (value === undefined) return '';
  return fieldLine(header, typeof value === 'string' ? value : JSON.stringify(value));
}

function scopesOf(claims: Claims): ReadonlySet<string> {
  const value = typeof claims['scope'] === 'string' ? claims['scope'] : claims['scp'];
  const list: readonly unknown[] =
    typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  return new Set(list.filter((item): item is string => typeof item === 'string' && item !== ''));
}
