/** Derives labels of records from names in other gateways. */

const LABEL_CHARS_MAX = 64;

/** A label that no item has yet: the name in the characters of labels, with a number when it is taken. */
export function withLabel(items: Readonly<Record<string, unknown>>, name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._~-]+/g, '-').replaceAll(/^[-.]+|-+$/g, '') || 'x';
  // No object can have a member of this name that is listed.
  const base = plain === '__proto__' ? 'proto' : plain.slice(0, LABEL_CHARS_MAX);
  if (!Object.hasOwn(items, base)) return base;
  for (let number = 2; ; number++) {
    const suffix = `-${number}`;
    const label = base.slice(0, LABEL_CHARS_MAX - suffix.length) + suffix;
    if (!Object.hasOwn(items, label)) return label;
  }
}
