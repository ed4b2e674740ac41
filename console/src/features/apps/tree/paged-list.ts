/**
 * A long list that is read page by page as far as it is visible, from its first item on or, if the list supports it,
 * from the nearer end. Cursors only lead forward: a place in the middle is reached over all pages before it. Owns
 * the pages read.
 */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Undefined after the last page. */
  readonly next: string | undefined;
  readonly total: number;
}

/** @param fromEnd the last item comes first */
export type FetchPage<T> = (cursor: string | undefined, fromEnd: boolean) => Promise<ListPage<T>>;

export class PagedList<T> {
  readonly #fetchPage: FetchPage<T>;
  readonly #onChange: () => void;
  readonly #readsFromEnd: boolean;
  readonly #items: T[] = [];
  /** The last item of the list first. */
  #tail: T[] = [];
  #cursor: string | undefined;
  #tailCursor: string | undefined;
  #total: number;
  #isComplete = false;
  #isReading = false;
  #wanted: readonly [from: number, to: number] = [0, -1];
  #error: Error | undefined;

  /**
   * @param total if it is known before the first page
   * @param onChange called after each page, and after a failure
   * @param readsFromEnd whether `fetchPage` can return the last items first
   */
  constructor(fetchPage: FetchPage<T>, total: number, onChange: () => void, readsFromEnd = false) {
    this.#fetchPage = fetchPage;
    this.#total = total;
    this.#onChange = onChange;
    this.#readsFromEnd = readsFromEnd;
  }

  /** Read so far, from the first on. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** How many items at the end were read, not counting those of `items`. */
  get tailLength(): number {
    return this.#tail.length;
  }

  /** Undefined where it is not read yet. */
  at(index: number): T | undefined {
    return index < this.#items.length ? this.#items[index] : this.#tail[this.total - 1 - index];
  }

  /** The length of the whole list, read or not. */
  get total(): number {
    return this.#isComplete
      ? this.#items.length
      : Math.max(this.#total, this.#items.length + this.#tail.length);
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Why reading stopped; `retry` continues. */
  get error(): Error | undefined {
    return this.#error;
  }

  /**
   * Reads until the items from `from` to `to` are there. A later call with other places stops the way to these.
   * @param from default: all before `to` are wanted as well
   */
  ensure(to: number, from = 0): void {
    this.#wanted = [from, to];
    if (!this.#isReading && this.#error === undefined) void this.#read();
  }

  retry(): void {
    const [from, to] = this.#wanted;
    this.#error = undefined;
    this.ensure(to, from);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    for (let fromEnd = this.#nextEnd(); fromEnd !== undefined; fromEnd = this.#nextEnd()) {
      try {
        const page = await this.#fetchPage(fromEnd ? this.#tailCursor : this.#cursor, fromEnd);
        this.#add(page, fromEnd);
      } catch (error) {
        this.#error = error as Error;
        this.#wanted = [0, -1];
      }
      this.#onChange();
      if (this.#error !== undefined) break;
    }
    this.#isReading = false;
  }

  /** Whether to read on from the end; undefined: what is wanted is there. */
  #nextEnd(): boolean | undefined {
    if (this.#isComplete) return undefined;
    const [head, tail] = [this.#items.length, this.#tail.length];
    const [from, to] = this.#wanted;
    // The length of the list is known with its first page.
    if (head === 0) return to < 0 ? undefined : false;
    const first = Math.max(from, head);
    const last = Math.min(to, this.total - 1 - tail);
    if (last < first) return tail === 0 && to >= head && this.#total <= head ? false : undefined;
    return this.#readsFromEnd && this.total - tail - first < last - head;
  }

  #add({ items, next, total }: ListPage<T>, fromEnd: boolean): void {
    // Others have changed the list: items read from its end may have moved.
    if (total !== this.#total && this.#tail.length > 0) {
      this.#tail = [];
      this.#tailCursor = undefined;
      this.#total = total;
      if (fromEnd) return;
    }
    this.#total = total;
    const target = fromEnd ? this.#tail : this.#items;
    for (const item of items) target.push(item);
    if (fromEnd) this.#tailCursor = next;
    else this.#cursor = next;
    if (next === undefined) this.#complete(fromEnd ? this.#tail.toReversed() : []);
    else if (this.#tail.length > 0 && this.#items.length + this.#tail.length >= total) {
      // The two ends meet.
      const rest = this.#tail.slice(0, Math.max(0, total - this.#items.length));
      this.#complete([...this.#items, ...rest.toReversed()]);
    }
  }

  /** @param all the whole list; empty: `items` has all of it */
  #complete(all: readonly T[]): void {
    for (const [index, item] of all.entries()) this.#items[index] = item;
    this.#tail = [];
    this.#isComplete = true;
  }
}
