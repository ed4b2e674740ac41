/** A number of bytes for people, in the largest binary unit that it reaches: `2 GiB`, `1.5 MiB`, `64 bytes`. Pure. */

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** @param bytes a whole number, not negative */
export function bytesText(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${Number(amount.toFixed(1))} ${UNITS[unit]}`;
}
