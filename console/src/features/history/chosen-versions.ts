/** Reads `12-15` of an address. Pure. */

/** @returns at most two config versions, in the order of the text; ignores everything that is not a number */
export function chosenVersions(text: string): readonly number[] {
  return text
    .split('-')
    .filter((part) => /^[0-9]{1,15}$/.test(part))
    .map(Number)
    .slice(0, 2);
}
