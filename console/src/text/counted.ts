/** Counts in sentences: `1 row`, `1,000 rows`. */
const NUMBER = new Intl.NumberFormat('en');

/** @param value a number, or the text of one. @param many the noun for all counts but 1; it may go on with a verb */
export function counted(value: number | string, one: string, many = `${one}s`): string {
  const text = typeof value === 'number' ? NUMBER.format(value) : value;
  return `${text} ${text === '1' ? one : many}`;
}
