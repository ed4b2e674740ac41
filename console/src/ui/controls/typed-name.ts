/** Whether the name of a thing was typed, as a reader sees it and can type it. Pure. */

/** Equal for names that look the same: accents, widths and spaces in one form, and no invisible characters. */
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
