/**
 * What parts make of a value once for all routes that inherit it: an app may have 10,000 addresses, and as many
 * endpoints with policies of their own. It is kept as long as the value.
 */
import type { EffectivePolicy } from '../model/policy.ts';
import type { PolicyPart } from './part.ts';

/** Of one value; a route whose variant was dropped makes it again. */
const VARIANTS_MAX = 16;

const byPart = new WeakMap<object, WeakMap<object, Map<string, unknown>>>();

/** @returns undefined where no level has the part, or the part prepares nothing */
export function preparedOf({ name, prepared }: PolicyPart, effective: EffectivePolicy): unknown {
  const value = effective.policy[name] ?? undefined;
  if (prepared === undefined || value === undefined) return undefined;
  const variant = prepared.variantOf?.(effective) ?? '';
  if (typeof value !== 'object') return prepared.make(value, variant);
  const known = variantsOf(prepared, value);
  if (known.has(variant)) return known.get(variant);
  const made = prepared.make(value, variant);
  const [oldest] = known.keys();
  if (known.size === VARIANTS_MAX && oldest !== undefined) known.delete(oldest);
  known.set(variant, made);
  return made;
}

function variantsOf(part: object, value: object): Map<string, unknown> {
  let byValue = byPart.get(part);
  if (byValue === undefined) byPart.set(part, (byValue = new WeakMap()));
  let variants = byValue.get(value);
  if (variants === undefined) byValue.set(value, (variants = new Map()));
  return variants;
}
