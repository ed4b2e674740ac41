/**
 * Merges the policies of the levels into the effective one (contract part 2 "Policy precedence"): per top-level
 * part the most specific level that gives a value wins whole; absent and `null` inherit. Parts are never mixed:
 * an endpoint's `rate_limit` replaces the app's, it does not amend it. Runs when a snapshot is compiled and for
 * the management API's effective-policy view, never per request.
 *
 * Knows no part. The defaults of the settings are added when a part is compiled.
 */
import type { EffectivePolicy, PolicySource, PolicyValues } from '../model/policy.ts';
import type { App, Endpoint, Revision } from '../model/resources.ts';

/** No level has a policy. One object for all such routes. */
const NOTHING: EffectivePolicy = Object.freeze({ policy: Object.freeze({}), sources: Object.freeze({}) });

/** True when the policy says something itself, that is, does not inherit every part. */
export function hasParts(policy: PolicyValues | null | undefined): boolean {
  if (policy === null || policy === undefined) return false;
  return Object.values(policy).some((value) => value !== undefined && value !== null);
}

/**
 * The effective policy of an endpoint, of what a revision serves besides its endpoints (no `endpoint`), or of
 * an app as a whole (neither). The result is frozen.
 */
export function mergePolicy(
  app: Pick<App, 'id' | 'default_policy'>,
  revision?: Pick<Revision, 'id' | 'default_policy'>,
  endpoint?: Pick<Endpoint, 'id' | 'policy_override'>,
): EffectivePolicy {
  const policy: Record<string, unknown> = {};
  const sources: Record<string, PolicySource> = {};
  let replaced: Record<string, unknown[]> | undefined;
  let found = false;
  // From the widest to the most specific level: what comes later replaces what came before.
  const place = (given: PolicyValues | null | undefined, source: PolicySource): void => {
    if (given === null || given === undefined) return;
    for (const [part, value] of Object.entries(given)) {
      if (value === undefined || value === null) continue;
      if (policy[part] !== undefined) ((replaced ??= {})[part] ??= []).push(policy[part]);
      policy[part] = value;
      sources[part] = source;
      found = true;
    }
  };
  place(app.default_policy, { level: 'app', id: app.id });
  if (revision !== undefined) place(revision.default_policy, { level: 'revision', id: revision.id });
  if (endpoint !== undefined) place(endpoint.policy_override, { level: 'endpoint', id: endpoint.id });
  if (!found) return NOTHING;
  const merged = { policy: Object.freeze(policy), sources: Object.freeze(sources) };
  return Object.freeze(replaced === undefined ? merged : { ...merged, replaced: Object.freeze(replaced) });
}
