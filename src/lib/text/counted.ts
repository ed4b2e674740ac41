/** Counts in sentences: `1 event`, `2 events`. Pure. */

/** @param many the noun for all counts but 1; default: `one` with an s. It may go on, with a verb that fits. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
