/**
 * The policy part `required_scopes`: the caller must have all of them. 403 `insufficient_scope` for a caller that lacks
 * one; 401 for an anonymous one, since a credential might help. On a route whose `auth_type` is `none`, no caller is
 * ever known, so required scopes refuse every request there: closed, not open.
 */
import type { Static } from 'typebox';
import type { FieldError } from '../../../model/errors.ts';
import type { PolicyValues } from '../../../model/policy.ts';
import type { AppName } from '../../../model/resources.ts';
import { givenAuth } from '../auth/auth-of.ts';
import { CREDENTIALS_MISSING, INSUFFICIENT_SCOPE } from '../auth/auth-reasons.ts';
import { challengeOf, credentialPlace } from '../auth/credential-place.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import { definePart, type CompileContext, type PartContribution, type RulesContext } from '../../part.ts';
import type { Denial, Evaluation, RequestFacts, Stage, StageResult } from '../../stage.ts';
import { scopesExplain } from './explain.ts';
import { ScopesSchema } from './schema.ts';
import { keyWarnings, scopesWithoutAuth, scopesWithoutHolder, scopeWithSpace } from './warnings.ts';

export const SCOPES = definePart({
  name: 'required_scopes',
  schema: ScopesSchema,
  docs: {
    summary: 'scopes that the caller must have',
    example: ['invoices:read'],
    inShadow: { request: 'passes', noted: 'requests that would get 403, or 401 for an anonymous caller' },
  },
  off: { example: [], is: (scopes) => scopes.length === 0 },
  mayShadow: true,
  stages: [{ name: 'required_scopes', phase: 'authorization' }],
  warnings: [scopesWithoutAuth, scopesWithoutHolder, scopeWithSpace],
  explain: scopesExplain,
  rules: scopeErrors,
  isProtective: true,
  keys: {
    admits: (required = [], { scopes }) => required.every((scope) => scopes.includes(scope)),
    warnings: keyWarnings,
  },
  compile: compileScopes,
});

function scopeErrors(scopes: Static<typeof ScopesSchema>, { policy, pointer }: RulesContext): FieldError[] {
  if (givenAuth(policy)?.auth_type !== 'none' || scopes.length === 0) return [];
  const detail = 'must be empty when auth_type is "none": a caller that is not authenticated has no scopes';
  return [{ pointer, detail }];
}

function compileScopes(
  required: Static<typeof ScopesSchema> | undefined,
  { effective, app, dependencies, inShadow }: CompileContext<undefined>,
): PartContribution | undefined {
  const [first] = required ?? [];
  if (required === undefined || first === undefined) return undefined;
  const run = scopesStage(required, first, effective.policy, app, dependencies.onAuth);
  return { stages: [{ part: 'required_scopes', run, shadow: inShadow }] };
}

function scopesStage(
  required: readonly string[],
  first: string,
  policy: PolicyValues,
  app: AppName,
  onAuth: PolicyDependencies['onAuth'],
): Stage {
  const auth = givenAuth(policy);
  const challenge = challengeOf(app, credentialPlace(auth), auth);
  const canAuthenticate = auth?.auth_type !== 'none';
  const anonymous: Denial = { kind: CREDENTIALS_MISSING, data: { challenge, canAuthenticate } };
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
