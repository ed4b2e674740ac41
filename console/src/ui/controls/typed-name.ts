/** Whether the name of a thing was typed, as a reader sees it and can type it. Pure. */

/** One way to write what looks the same: accents, widths, spaces; without what is not seen. */
const asSeen = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Upper and lower case are told apart. */
export function isNameTyped(typed: string, name: string): boolean {
  return typed === name || (asSeen(name) !== '' && asSeen(typed) === asSeen(name));
}
