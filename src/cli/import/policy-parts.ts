/** Combines parts of a policy from several sources. */
import { isDeepStrictEqual } from 'node:util';
import type { Item } from './imported-route.ts';

/** The parts of which `mergedParts` keeps only the later one: of two limits or lists of addresses, both would apply. */
export function replacedParts(parts: Item, more: Item): string[] {
  return Object.entries(more).flatMap(([part, value]) => {
    const known = parts[part];
    return part === 'headers' || known === undefined || isDeepStrictEqual(known, value) ? [] : [part];
  });
}

/** Later parts replace earlier ones, except edits of headers, which are combined. */
export function mergedParts(parts: Item, more: Item): Item {
  const { headers, ...others } = more;
  if (headers === undefined) return { ...parts, ...others };
  const known = (parts['headers'] ?? {}) as Readonly<Record<string, Item>>;
  const added = headers as Readonly<Record<string, Item>>;
  const both = Object.fromEntries(
    ['request', 'response'].flatMap((direction) => {
      const [one, other] = [known[direction], added[direction]];
      return one === undefined && other === undefined ? [] : [[direction, mergedEdits(one, other)]];
    }),
  );
  return { ...parts, ...others, headers: both };
}

function mergedEdits(one: Item = {}, other: Item = {}): Item {
  const edits: Record<string, unknown> = { ...one };
  for (const [kind, value] of Object.entries(other)) {
    const known = edits[kind];
    if (Array.isArray(known) && Array.isArray(value))
      edits[kind] = [...new Set<unknown>([...known, ...value])];
    else edits[kind] = known === undefined ? value : { ...(known as object), ...(value as object) };
  }
  return edits;
}
