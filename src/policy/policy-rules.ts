/**
 * Rules of a policy about several fields, or about the meaning of a field, which the schema cannot express. Pure and
 * synchronous. Looks at one level's policy at a time: parts that only clash after merging with another level (for
 * example required_scopes below an `auth_type` of `none`) fail closed when they are evaluated.
 */
import type { FieldError } from '../model/errors.ts';
import type { PolicyValues } from '../model/policy.ts';
import type { RulesContext } from './part.ts';
import { PARTS } from './registry.ts';

/**
 * Checks a policy that has already passed `PolicySchema`.
 * @param pointerPrefix RFC 6901 pointer of the policy within the request body, e.g. `/default_policy`
 * @returns one entry per broken rule, empty when all hold
 */
export function validatePolicy(
  policy: PolicyValues,
  context: Pick<RulesContext, 'globals' | 'hostDenial' | 'endpointParameters'>,
  pointerPrefix: string,
): FieldError[] {
  return PARTS.flatMap((part) => {
    const value = policy[part.name];
    if (value === undefined || value === null) return [];
    return part.rules?.(value, { ...context, policy, pointer: `${pointerPrefix}/${part.name}` }) ?? [];
  });
}
