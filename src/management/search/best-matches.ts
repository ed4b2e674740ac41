/** Finds a text in the texts of many candidates and keeps the best few. Pure; owns the best so far. */

export type Match = 'exact' | 'prefix' | 'part';

const RANKS: readonly Match[] = ['exact', 'prefix', 'part'];

interface Kept<T> {
  readonly rank: number;
  readonly order: number;
  readonly label: string;
  readonly value: T;
}

/** The matches of one text. */
export class BestMatches<T> {
  readonly #wanted: string;
  readonly #limit: number;
  /** Sorted, the best first; at most `limit`. */
  readonly #kept: Kept<T>[] = [];
  #total = 0;

  /** @param text compared without regard to case */
  constructor(text: string, limit: number) {
    this.#wanted = text.toLowerCase();
    this.#limit = limit;
  }

  /** How many candidates matched. */
  get total(): number {
    return this.#total;
  }

  get items(): readonly (T & { readonly match: Match })[] {
    return this.#kept.map(({ value, rank }) => ({ ...value, match: RANKS[rank] ?? 'part' }));
  }

  /**
   * @param texts texts that may match; the first is the label, which comes first among equal matches
   * @param order order of kinds, the smallest first
   * @param valueOf called for matches that are kept
   */
  offer(texts: readonly (string | null)[], order: number, valueOf: () => T): void {
    let rank = RANKS.length;
    for (const text of texts) if (text !== null) rank = Math.min(rank, this.#rankIn(text));
    if (rank === RANKS.length) return;
    this.#total += 1;
    const candidate = { rank, order, label: texts[0] ?? '' };
    const last = this.#kept.at(-1);
    const isFull = this.#kept.length === this.#limit;
    if (isFull && last !== undefined && compare(candidate, last) >= 0) return;
    if (isFull) this.#kept.pop();
    this.#kept.splice(this.#placeOf(candidate), 0, { ...candidate, value: valueOf() });
  }

  #rankIn(text: string): number {
    const at = text.toLowerCase().indexOf(this.#wanted);
    if (at < 0) return RANKS.length;
    if (at > 0) return 2;
    return text.length === this.#wanted.length ? 0 : 1;
  }

  #placeOf(candidate: Omit<Kept<T>, 'value'>): number {
    let [low, high] = [0, this.#kept.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(candidate, this.#kept[middle] as Kept<T>) < 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

type Place = Omit<Kept<unknown>, 'value'>;

function compare(a: Place, b: Place): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (a.order !== b.order) return a.order - b.order;
  if (a.label.length !== b.label.length) return a.label.length - b.label.length;
  return a.label < b.label ? -1 : Number(a.label > b.label);
}
