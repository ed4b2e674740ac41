/**
 * `required_scopes`: the caller must hold every one of them. 403 `insufficient_scope` for a caller that lacks one;
 * 401 for an anonymous one, since a credential might help. On a route whose `auth_type` is `none` nobody can ever
 * be known, so that required scopes there refuse every request: closed, not open.
 */
import type { Policy } from '../../../model/policy.ts';
import type { AppName } from '../../../model/resources.ts';
import { CREDENTIALS_MISSING, INSUFFICIENT_SCOPE } from '../auth/auth-reasons.ts';
import { challengeOf, credentialPlace } from '../auth/credential-place.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import type { Denial, Evaluation, RequestFacts, Stage, StageResult } from '../../stage.ts';

/** @returns undefined when no scope is required */
export function compileScopes(
  policy: Policy,
  app: AppName,
  dependencies: PolicyDependencies,
): Stage | undefined {
  const required = policy.required_scopes ?? [];
  const [first] = required;
  if (first === undefined) return undefined;
  const place = credentialPlace(policy);
  const challenge = challengeOf(app, place, policy.auth);
  const canAuthenticate = policy.auth?.auth_type !== 'none';
  const anonymous: Denial = { kind: CREDENTIALS_MISSING, data: { challenge, canAuthenticate } };
  const { onAuth } = dependencies;
  return (_facts: RequestFacts, evaluation: Evaluation): StageResult => {
    const { caller } = evaluation;
    if (caller.kind === 'anonymous') {
      onAuth('missing');
      return evaluation.authFailure ?? anonymous;
    }
    if (required.length === 1 && caller.scopes.has(first)) return undefined;
    if (required.every((scope) => caller.scopes.has(scope))) return undefined;
    onAuth('forbidden');
    const missing = required.filter((scope) => !caller.scopes.has(scope));
    return { kind: INSUFFICIENT_SCOPE, data: { challenge, required, missing } };
  };
}
