/** The content of a chart as figures, where its lines have lone points, and their colours. Pure. */

export type Values = readonly (number | null)[];

export interface SeriesFacts {
  readonly latest: number | null;
  readonly lowest: number | null;
  readonly highest: number | null;
}

/** The number of tokens `--series-…`. */
const COLOURS = 6;

/** @param index index of the series */
export function colourToken(index: number): string {
  return `--series-${(index % COLOURS) + 1}`;
}

/** null when there is no value. The latest is the last known value. */
export function factsOf(values: Values): SeriesFacts {
  let latest: number | null = null;
  let lowest: number | null = null;
  let highest: number | null = null;
  for (const value of values) {
    if (value === null) continue;
    latest = value;
    if (lowest === null || value < lowest) lowest = value;
    if (highest === null || value > highest) highest = value;
  }
  return { latest, lowest, highest };
}

/** Values with a gap on both sides: a line does not show them, so they are drawn as points. */
export function lonePoints(values: readonly (number | null | undefined)[]): number[] {
  const isGap = (index: number): boolean => values[index] === null || values[index] === undefined;
  const found: number[] = [];
  for (let index = 0; index < values.length; index++) {
    if (!isGap(index) && isGap(index - 1) && isGap(index + 1)) found.push(index);
  }
  return found;
}
