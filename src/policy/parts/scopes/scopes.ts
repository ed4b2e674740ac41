/**
 * `required_scopes`: the caller must hold every one of them. 403 `insufficient_scope` for a caller that lacks one;
 * 401 for an anonymous one, since a credential might help. On a route whose `auth_type` is `none` nobody can ever
 * be known, so that required scopes there refuse every request: closed, not open.
 */
import type { Policy } from '../../../model/policy.ts';
import type { AppName } from '../../../model/resources.ts';
import { challenges } from '../auth/bearer.ts';
import { credentialPlace } from '../auth/credential-place.ts';
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
  const isJwt = policy.auth?.auth_type === 'jwt';
  const challenge = challenges(app.slug, place && { name: place.name, isJwt });
  const anonymous =
    policy.auth?.auth_type === 'none'
      ? {
          ...challenge.missing,
          detail: 'The route requires scopes, but its auth_type "none" lets no caller be known',
          sentence: challenge.missing.detail,
        }
      : challenge.missing;
  // One denial per scope that may be the missing one, so that refusing costs no more than letting pass.
  const denials: readonly Denial[] = required.map((scope) =>
    challenge.insufficientScope(required, `The credential lacks the scope "${scope}"`),
  );
  const { onAuth } = dependencies;
  return (_facts: RequestFacts, evaluation: Evaluation): StageResult => {
    const { caller } = evaluation;
    if (caller.kind === 'anonymous') {
      onAuth('missing');
      return evaluation.authFailure ?? anonymous;
    }
    if (required.length === 1 && caller.scopes.has(first)) return undefined;
    for (let index = 0; index < required.length; index++) {
      const scope = required[index];
      if (scope === undefined || caller.scopes.has(scope)) continue;
      onAuth('forbidden');
      return denials[index];
    }
    return undefined;
  };
}
