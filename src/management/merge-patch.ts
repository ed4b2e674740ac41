/**
 * JSON Merge Patch (RFC 7396) with one deviation: a policy is patched by top-level parts. A part that is given
 * replaces the stored one whole, a part given as null is removed; a policy given as null is removed as a whole.
 * That is how policies are merged between levels, too. Pure; the inputs are not changed.
 */

export const POLICY_FIELDS: ReadonlySet<string> = new Set(['default_policy', 'policy_override']);

type JsonObject = Readonly<Record<string, unknown>>;

/** Applies the patch of a resource to its writable fields; a field that is null in the patch is gone afterwards. */
export function patchResource(target: JsonObject, patch: JsonObject): Record<string, unknown> {
  const result: Record<string, unknown> = { ...target };
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete result[name];
    else if (POLICY_FIELDS.has(name)) result[name] = patchParts(result[name], change);
    else result[name] = mergePatch(result[name], change);
  }
  return result;
}

function patchParts(target: unknown, change: unknown): unknown {
  if (!isObject(change)) return change;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [part, value] of Object.entries(change)) {
    if (value === null) delete result[part];
    else result[part] = value;
  }
  return result;
}

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
