/** Labels of records from names of other gateways. */

const LABEL_CHARS_MAX = 64;

/** A label that the items do not have yet: the name in the characters of labels, numbered where it is taken. */
export function withLabel(items: Readonly<Record<string, unknown>>, name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._~-]+/g, '-').replaceAll(/^[-.]+|-+$/g, '') || 'x';
  const base = plain.slice(0, LABEL_CHARS_MAX);
  if (!Object.hasOwn(items, base)) return base;
  for (let number = 2; ; number++) {
    const suffix = `-${number}`;
    const label = base.slice(0, LABEL_CHARS_MAX - suffix.length) + suffix;
    if (!Object.hasOwn(items, label)) return label;
  }
}
