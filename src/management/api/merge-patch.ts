/**
 * JSON Merge Patch (RFC 7396), throughout: objects merge at every depth, `null` removes a member, anything else,
 * arrays included, replaces what was there. Policies merge by whole parts between their levels only
 * (config/merge-policy.ts), not inside of a patch. Pure; the inputs are not changed.
 */

type JsonObject = Readonly<Record<string, unknown>>;

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

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
