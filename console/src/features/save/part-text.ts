/** What a part of a policy says, as people read it, and of two of its values only what differs. Pure. */
import { leavesOf, isFields, isSame, valueAt } from './merge-patch.ts';

/** Such as `requests: 5, window_seconds: 60`. */
export function partText(value: unknown): string {
  if (!isFields(value)) return plainText(value);
  return leavesOf(value)
    .map(({ path, value: leaf }) => `${path.join('.')}: ${plainText(leaf)}`)
    .join(', ');
}

/**
 * Both values without the fields that they have in common. Where nothing differs (the value comes from another level
 * now) or one of them has no fields, they are told in full.
 */
export function changedTexts(before: unknown, after: unknown): readonly [before: string, after: string] {
  if (!isFields(before) || !isFields(after) || isSame(before, after)) {
    return [partText(before), partText(after)];
  }
  const texts = [before, after].map((side, index) =>
    leavesOf(side)
      .filter(({ path, value }) => !isSame(valueAt(index === 0 ? after : before, path), value))
      .map(({ path, value }) => `${path.join('.')}: ${plainText(value)}`)
      .join(', '),
  );
  return [texts[0] ?? '', texts[1] ?? ''];
}

function plainText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : value.map(plainText).join(', ');
  if (isFields(value)) return `(${partText(value)})`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
