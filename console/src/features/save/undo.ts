/** The write that takes a saved PATCH back, where it is known. Pure. */
import { MASK } from '../../api/mask.ts';
import { applyPatch, inversePatch, isFields, isSame, leavesOf, valueAt, type Fields } from './merge-patch.ts';
import type { Change } from './save-context.ts';

/**
 * @param made what was sent, and the fields as they were before
 * @param etag of the record after it: a later write is not undone along with this one
 */
export function undoOf(
  operation: string,
  made: { readonly options: Change['options']; readonly base: Fields | undefined } | undefined,
  etag: string | undefined,
): Pick<Change, 'operation' | 'options'> | undefined {
  const { base, options } = made ?? {};
  const patch = options?.body;
  if (!operation.startsWith('PATCH ') || base === undefined || !isFields(patch)) return undefined;
  const before = Object.fromEntries(
    Object.keys(patch).map((name) => [
      name,
      Object.hasOwn(base, name) ? (base[name] ?? undefined) : undefined,
    ]),
  );
  const known = Object.fromEntries(Object.entries(before).filter(([, value]) => value !== undefined));
  const back = inversePatch(known, patch);
  const isSecret = leavesOf(back).some(({ path, value }) => hasMask(value) || hasMask(valueAt(patch, path)));
  if (isSecret || isSame(back, {}) || !isSame(applyPatch(applyPatch(known, patch), back), known))
    return undefined;
  return { operation, options: { path: options?.path, body: back, ifMatch: etag } };
}

/** A secret is in it: what it was is not known, so it cannot be restored. */
function hasMask(value: unknown): boolean {
  return JSON.stringify(value ?? null).includes(MASK);
}
