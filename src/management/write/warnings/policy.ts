/**
 * Warnings about policies. The rules are in the parts; each gets the policy in force at one level, merged from the
 * levels above, and reports only what that level itself says: a warning about an inherited value belongs to the
 * write of the level above.
 */
import { timestamp } from '../../../lib/clock.ts';
import type { App, Endpoint, Revision } from '../../../model/resources.ts';
import type { Warning } from '../../../model/warnings.ts';
import { mergePolicy } from '../../../config/merge-policy.ts';
import { warningsOfPolicy, type PolicyView } from '../../../policy/policy-warnings.ts';
import type { RuleContext } from '../rule-context.ts';

/** Warnings for the policy of an app, a revision or an endpoint: the most specific record given. */
export function policyWarnings(
  app: App,
  revision: Revision | undefined,
  endpoint: Endpoint | undefined,
  rules: RuleContext,
): Promise<Warning[]> {
  const effective = mergePolicy(app, revision, endpoint);
  const { id } = endpoint ?? revision ?? app;
  const pointer = endpoint === undefined ? '/default_policy' : '/policy_override';
  const isOwn = (part: string) => effective.sources[part]?.id === id;
  return viewWarnings({ app, endpoint, effective, isOwn, pointer }, rules);
}

export function viewWarnings(
  view: PolicyView,
  { clock, jwtDefaults, policyGlobals, reader, trusted }: RuleContext,
): Promise<Warning[]> {
  const now = timestamp(clock.nowMs());
  return warningsOfPolicy(view, {
    jwtDefaults,
    policyGlobals,
    trusted,
    someKeyHasScopes: (appId, scopes) => reader.someKeyHasScopes(appId, scopes, now),
  });
}
