/** Words of a POSIX shell. Pure. */

/** Nothing inside of single quotes has a meaning. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Quoted where a shell would read more than a word. */
export function word(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) && !text.startsWith('-') ? text : quoted(text);
}
