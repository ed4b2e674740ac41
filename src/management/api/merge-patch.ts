/**
 * JSON Merge Patch (RFC 7396): objects merge at every depth, `null` removes a member, anything else, including
 * arrays, replaces the old value. Whole parts are replaced only between the levels of policies
 * (config/merge-policy.ts), not inside a patch. Pure; the inputs are not changed.
 */
import { isObject } from '../../lib/is-object.ts';

/** RFC 7396 section 2. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete result[name];
    else result[name] = mergePatch(result[name], change);
  }
  return result;
}
