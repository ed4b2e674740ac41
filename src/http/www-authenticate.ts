/** The Bearer challenge (RFC 6750 section 3) that goes with 401 and, for a missing scope, with 403. */
import { quoted } from './structured-string.ts';

export type BearerChallenge = {
  readonly realm?: string;
  /** Absent when the request held no credential at all (RFC 6750 section 3.1). */
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope';
  readonly errorDescription?: string;
  /** Scopes that would have sufficed. */
  readonly scopes?: readonly string[];
};

/** The WWW-Authenticate value. Safe with any text: what cannot stand in a quoted string is replaced. */
export function bearerChallenge(challenge: BearerChallenge = {}): string {
  const parameters: string[] = [];
  if (challenge.realm !== undefined) parameters.push(`realm=${quoted(challenge.realm)}`);
  if (challenge.error !== undefined) parameters.push(`error=${quoted(challenge.error)}`);
  if (challenge.errorDescription !== undefined) {
    parameters.push(`error_description=${quoted(challenge.errorDescription)}`);
  }
  if (challenge.scopes !== undefined && challenge.scopes.length > 0) {
    parameters.push(`scope=${quoted(challenge.scopes.join(' '))}`);
  }
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`;
}
