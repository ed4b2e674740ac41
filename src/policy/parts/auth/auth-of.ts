/** The `auth` that applies to a merged policy. Pure. */
import type { PolicyValues } from '../../../model/policy.ts';
import { requiredScopes } from '../scopes/schema.ts';
import type { AuthPolicy } from './schema.ts';

const IMPLIED: AuthPolicy = Object.freeze({ auth_type: 'api_key' });

/** `required_scopes` without any `auth` imply API keys. @returns undefined if neither is set */
export function authOf(policy: PolicyValues): AuthPolicy | undefined {
  return givenAuth(policy) ?? (requiredScopes(policy).length > 0 ? IMPLIED : undefined);
}

/** The part as one level sets it. */
export function givenAuth(policy: PolicyValues): AuthPolicy | undefined {
  return (policy['auth'] as AuthPolicy | null | undefined) ?? undefined;
}
