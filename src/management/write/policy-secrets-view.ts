/**
 * Secrets inside policies are write-only: answers and audit entries show them as `********`. A PATCH or PUT that
 * contains the mask keeps the stored value, so that a client can read a policy, change a part, and send the whole.
 * The parts define where their secrets are (policy/secret-places.ts). Pure.
 */
import { isObject } from '../../lib/is-object.ts';
import { valueAt } from '../../lib/text/json-pointer.ts';
import type { MaskedPlace } from '../../model/policy.ts';
import { MASKED_PLACES } from '../../policy/secret-places.ts';

export const MASK = '********';

/** The fields of records that hold a policy. */
const POLICY_FIELDS: readonly string[] = ['default_policy', 'policy_override'];
const PLACES_IN_RECORDS = POLICY_FIELDS.flatMap((field) => MASKED_PLACES.map((place) => [field, ...place]));

/** A copy of a policy with its secrets masked. */
export function maskPolicy<T>(policy: T): T {
  return mask(policy, MASKED_PLACES) as T;
}

/** A copy of the value of a part with its secrets masked. */
export function maskPart(part: string, value: unknown): unknown {
  return maskPolicy({ [part]: value })[part];
}

/** A copy of a record, or of some of its fields, with the secrets of its policy masked. */
export function maskRecord<T>(record: T): T {
  return mask(record, PLACES_IN_RECORDS) as T;
}

/**
 * A copy of a record in which each secret of its policy is what `replace` makes of it.
 * @param other a record whose values at the same places are handed along
 */
export function replaceSecrets<T>(
  record: T,
  other: unknown,
  replace: (value: unknown, other: unknown) => unknown,
): T {
  return PLACES_IN_RECORDS.reduce<unknown>(
    (replaced, place) => changeAt(replaced, other, place, replace),
    record,
  ) as T;
}

/**
 * A copy of a record that a client sent in which every masked secret is the stored one from the same place. A mask with
 * nothing stored under it stays, and then fails validation.
 */
export function restoreSecrets(sent: unknown, stored: unknown): unknown {
  const restore: Change = (value, old) => (value === MASK && old !== undefined ? old : value);
  return PLACES_IN_RECORDS.reduce((restored, place) => changeAt(restored, stored, place, restore), sent);
}

/** Whether the value at an RFC 6901 pointer into a record is a masked secret. */
export function isMaskedAt(record: unknown, pointer: string): boolean {
  if (valueAt(record, pointer) !== MASK) return false;
  const tokens = pointer.split('/').slice(1);
  return PLACES_IN_RECORDS.some(
    (place) =>
      place.length === tokens.length &&
      place.every((step, index) => typeof step !== 'string' || step === tokens[index]),
  );
}

function mask(value: unknown, places: readonly MaskedPlace[]): unknown {
  return places.reduce((masked, place) => changeAt(masked, undefined, place, () => MASK), value);
}

type Change = (value: unknown, stored: unknown) => unknown;

/** A copy with another value at the place, where there is one; otherwise the value itself. */
function changeAt(value: unknown, stored: unknown, [step, ...inner]: MaskedPlace, change: Change): unknown {
  if (step === undefined) return change(value, stored);
  if (typeof step !== 'string') {
    if (!Array.isArray(value)) return value;
    return value.map((item: unknown, index) =>
      changeAt(item, sameItem(item, stored, step.eachBy, index), inner, change),
    );
  }
  if (!isObject(value) || !Object.hasOwn(value, step)) return value;
  const old = isObject(stored) ? stored[step] : undefined;
  return { ...value, [step]: changeAt(value[step], old, inner, change) };
}

/** The stored item with the same id, or at the same index when the item has none. */
function sameItem(item: unknown, stored: unknown, idName: string, index: number): unknown {
  if (!Array.isArray(stored)) return undefined;
  if (!isObject(item) || item[idName] === undefined) return stored[index] as unknown;
  return stored.find((candidate: unknown) => isObject(candidate) && candidate[idName] === item[idName]);
}
