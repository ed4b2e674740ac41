/**
 * JSON Merge Patch (RFC 7396): what changes one document into another, and the way back. Pure; documents without null,
 * which a merge patch cannot express.
 */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether two JSON values are the same; the order of members does not count. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  if (!isFields(a) || !isFields(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  );
}

/** The smallest patch that makes `after` of `before`; `{}` where they are the same. */
export function mergePatchOf(before: Fields, after: Fields): Fields {
  const patch: [string, unknown][] = [];
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) patch.push([name, null]);
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (Object.hasOwn(before, name) && isSame(old, value)) continue;
    patch.push([name, isFields(old) && isFields(value) ? mergePatchOf(old, value) : value]);
  }
  return Object.fromEntries(patch);
}

/** RFC 7396 section 2. */
export function applyPatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const result = new Map(Object.entries(isFields(target) ? target : {}));
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) result.delete(name);
    else result.set(name, applyPatch(result.get(name), change));
  }
  return Object.fromEntries(result);
}

/** The patch that takes another one back, on the document that it was made for. */
export function inversePatch(before: Fields, patch: Fields): Fields {
  return mergePatchOf(applyPatch(before, patch) as Fields, before);
}

export interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** The values that a patch sets, and null for each that it removes, with their places. */
export function leavesOf(patch: Fields, path: readonly string[] = []): Leaf[] {
  return Object.entries(patch).flatMap(([name, value]) => {
    const at = [...path, name];
    return isFields(value) && Object.keys(value).length > 0 ? leavesOf(value, at) : [{ path: at, value }];
  });
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (isFields(at) && Object.hasOwn(at, name) ? at[name] : undefined),
    value,
  );
}

/** A copy with another value at a place; undefined removes it. */
export function withValueAt(fields: Fields, path: readonly string[], value: unknown): Fields {
  const [name, ...rest] = path;
  if (name === undefined) return fields;
  const { [name]: old, ...others } = fields;
  const fresh = rest.length === 0 ? value : withValueAt(isFields(old) ? old : {}, rest, value);
  if (fresh === undefined) return others;
  // In its old place, so that text that is made of it changes as little as can be.
  return Object.hasOwn(fields, name)
    ? Object.fromEntries(Object.entries(fields).map(([key, member]) => [key, key === name ? fresh : member]))
    : { ...fields, [name]: fresh };
}
