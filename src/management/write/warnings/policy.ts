/**
 * Warnings of policies. The rules are in the parts of policies; each looks at the policy that is in force at one level,
 * merged from the levels above, and speaks of what that level itself says: a warning of what is inherited belongs to
 * the write of the level above.
 */
import { timestamp } from '../../../lib/clock.ts';
import type { App, Endpoint, Revision } from '../../../model/resources.ts';
import type { Warning } from '../../../model/warnings.ts';
import { mergePolicy } from '../../../config/merge-policy.ts';
import { warningsOfPolicy, type PolicyView } from '../../../policy/policy-warnings.ts';
import type { RuleContext } from '../rule-context.ts';

/** Of the policy that an app, a revision or an endpoint has been given; the most specific of those named. */
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
