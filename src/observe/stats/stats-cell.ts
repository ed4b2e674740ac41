/**
 * One step in few bytes: for each column that is not 0, the distance to the previous such column and the value, as
 * variable-length integers (LEB128). Values are integers of at most 2^53.
 */
import { addValue, type StepCounts } from './stats-columns.ts';

/** The most bytes that a step with this many columns takes. */
export function cellBytesMax(columns: number): number {
  return columns * (2 + 8);
}

/** Writes the step and returns where it ends; it fits if `cellBytesMax` bytes are free. */
export function writeCell(counts: StepCounts, into: Uint8Array, start: number): number {
  let at = start;
  let before = 0;
  for (let column = 0; column < counts.length; column++) {
    const value = Math.round(counts[column]!);
    if (value <= 0) continue;
    at = writeNumber(into, at, column - before);
    at = writeNumber(into, at, value);
    before = column;
  }
  return at;
}

/** Adds a step to a longer one. */
export function addCell(sums: StepCounts, from: Uint8Array, start: number, end: number): void {
  let column = 0;
  let at = start;
  while (at < end) {
    let value = 0;
    let scale = 1;
    for (let isColumn = true; ;) {
      const byte = from[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte >= 0x80) continue;
      if (!isColumn) break;
      column += value;
      value = 0;
      scale = 1;
      isColumn = false;
    }
    addValue(sums, column, value);
  }
}

function writeNumber(into: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest >= 128) {
    into[at++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  into[at++] = rest;
  return at;
}
