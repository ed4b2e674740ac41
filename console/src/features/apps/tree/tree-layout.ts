/**
 * The rows that an open tree shows, without a list of them: long runs of leaves count as one piece, so that a hundred
 * thousand endpoints cost no more than one. Pure.
 */
export interface Rows<Row> {
  readonly count: number;
  /** Undefined outside of 0 … count − 1. */
  at(index: number): Row | undefined;
}

interface Piece<Row> {
  readonly start: number;
  readonly count: number;
  readonly at: (index: number) => Row;
}

/** Collects rows from the top down. */
export class RowsBuilder<Row> {
  readonly #pieces: Piece<Row>[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  row(row: Row): void {
    this.run(1, () => row);
  }

  /** @param at the row by its place in the run */
  run(count: number, at: (index: number) => Row): void {
    if (count <= 0) return;
    this.#pieces.push({ start: this.#count, count, at });
    this.#count += count;
  }

  build(): Rows<Row> {
    const pieces = this.#pieces;
    const count = this.#count;
    return {
      count,
      at: (index) => {
        if (!(index >= 0 && index < count)) return undefined;
        const piece = pieces[lastStartAt(pieces, index)];
        return piece?.at(index - piece.start);
      },
    };
  }
}

/** The place of the last piece that starts at or before `index`. */
function lastStartAt(pieces: readonly { readonly start: number }[], index: number): number {
  let [low, high] = [0, pieces.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((pieces[middle]?.start ?? 0) <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The next row, after `from` and around the end, whose label starts with what is typed.
 * @param labelOf undefined for rows without one
 */
export function findByPrefix<Row>(
  rows: Rows<Row>,
  from: number,
  prefix: string,
  labelOf: (row: Row) => string | undefined,
): number | undefined {
  const wanted = prefix.toLowerCase();
  // A single letter moves on to the next matching row; with more letters, the current row may stay if it matches.
  const first = prefix.length === 1 ? 1 : 0;
  for (let step = first; step < rows.count + first; step++) {
    const index = (from + step) % rows.count;
    const row = rows.at(index);
    if (row !== undefined && labelOf(row)?.toLowerCase().startsWith(wanted) === true) return index;
  }
  return undefined;
}
