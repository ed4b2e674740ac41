/**
 * Merges the policies of all levels into the effective policy (contract part 2 "Policy precedence"). For each part, the
 * value of the most specific level applies; absent and `null` inherit. A part is replaced as a whole: an endpoint's
 * `rate_limit` replaces the app's and does not change single fields of it. Runs when a snapshot is compiled and for the
 * management API's effective-policy view, never per request.
 *
 * Knows no single part. Defaults from the settings are added when a part is compiled.
 */
import type { EffectivePolicy, PolicySource, PolicyValues } from '../model/policy.ts';
import type { App, Endpoint, Revision } from '../model/resources.ts';

/** The result when no level has a policy: one object for all such routes. */
const NOTHING: EffectivePolicy = Object.freeze({ policy: Object.freeze({}), sources: Object.freeze({}) });

/** True when the policy sets at least one part. */
export function hasParts(policy: PolicyValues | null | undefined): boolean {
  if (policy === null || policy === undefined) return false;
  return Object.values(policy).some((value) => value !== undefined && value !== null);
}

/**
 * The effective policy of an endpoint, of the routes of a revision without an endpoint (no `endpoint`), or of an app
 * (neither). The result is frozen.
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
  // From the widest level to the most specific one: later values replace earlier ones.
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
