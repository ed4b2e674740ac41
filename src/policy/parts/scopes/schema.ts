/** Schema of the policy part `required_scopes`; API keys have scopes of the same form. */
import { Type } from 'typebox';
import { SCOPE_PATTERN } from '../../../model/patterns.ts';
import type { PolicyValues } from '../../../model/policy.ts';

const scope = Type.String({ pattern: SCOPE_PATTERN, maxLength: 256 });

/** The scopes of a policy, or of an API key. */
const scopesSchema = (description: string) =>
  Type.Array(scope, { maxItems: 200, uniqueItems: true, description });

export const ScopesSchema = scopesSchema('Scopes that a caller must have, all of them (403).');

/** The scopes that a policy requires; empty when it sets none. */
export function requiredScopes(policy: PolicyValues): readonly string[] {
  return (policy['required_scopes'] as readonly string[] | null | undefined) ?? [];
}
