/**
 * Merges the policies of the levels into the effective one (contract part 2 "Policy precedence"): per top-level
 * part the most specific level that gives a value wins whole; absent and `null` inherit. Parts are never mixed:
 * an endpoint's `rate_limit` replaces the app's, it does not amend it. Runs when a snapshot is compiled and for
 * the management API's effective-policy view, never per request.
 *
 * Does not know the global defaults of the settings: what fills a missing `rate_limit` is policy/'s business.
 */
import { foldedName } from '../lib/folded-name.ts';
import { POLICY_PARTS } from '../model/policy.ts';
import type { AuthPolicy, EffectivePolicy, Policy, PolicyPart, PolicySource } from '../model/policy.ts';
import type { App, Endpoint, Revision } from '../model/resources.ts';

/** What no level has said anything about; one object, so that ten thousand plain routes cost one policy. */
const NOTHING: EffectivePolicy = Object.freeze({ policy: Object.freeze({}), sources: Object.freeze({}) });

/** True when the policy says something itself, that is, does not inherit every part. */
export function hasParts(policy: Policy | null | undefined): boolean {
  if (policy === null || policy === undefined) return false;
  return POLICY_PARTS.some((part) => policy[part] !== undefined && policy[part] !== null);
}

/**
 * The effective policy of an endpoint, of what a revision serves besides its endpoints (no `endpoint`), or of
 * an app as a whole (neither). The result is frozen; `sources` names the level that gave each part.
 */
export function mergePolicy(
  app: Pick<App, 'id' | 'default_policy'>,
  revision?: Pick<Revision, 'id' | 'default_policy'>,
  endpoint?: Pick<Endpoint, 'id' | 'policy_override'>,
): EffectivePolicy {
  const policy: Record<string, unknown> = {};
  const sources: Partial<Record<PolicyPart, PolicySource>> = {};
  const vouchedAbove = new Set<string>();
  let found = false;
  // From the least to the most specific level: what comes later replaces what came before.
  const place = (given: Policy | null | undefined, source: PolicySource): void => {
    if (given === null || given === undefined) return;
    for (const part of POLICY_PARTS) {
      const value = given[part];
      if (value === undefined || value === null) continue;
      if (part === 'auth') addVouched(vouchedAbove, policy[part] as AuthPolicy | undefined);
      policy[part] = value;
      sources[part] = source;
      found = true;
    }
  };
  place(app.default_policy, { level: 'app', id: app.id });
  if (revision !== undefined) place(revision.default_policy, { level: 'revision', id: revision.id });
  if (endpoint !== undefined) place(endpoint.policy_override, { level: 'endpoint', id: endpoint.id });
  if (!found) return NOTHING;
  const merged = { policy: Object.freeze(policy as Policy), sources: Object.freeze(sources) };
  return Object.freeze(vouchedAbove.size === 0 ? merged : { ...merged, vouchedAbove });
}

function addVouched(names: Set<string>, auth: AuthPolicy | undefined): void {
  if (auth?.auth_type !== 'jwt') return;
  for (const name of Object.values(auth.jwt?.claims_to_headers ?? {})) names.add(foldedName(name));
}
