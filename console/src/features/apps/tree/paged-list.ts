/**
 * A long list that is read page by page as far as it is looked at. Cursors lead forward only: a place far down is
 * reached over all pages before it, one after another. Owns what was read.
 */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Undefined after the last page. */
  readonly next: string | undefined;
  readonly total: number;
}

export type FetchPage<T> = (cursor: string | undefined) => Promise<ListPage<T>>;

export class PagedList<T> {
  readonly #fetchPage: FetchPage<T>;
  readonly #onChange: () => void;
  readonly #items: T[] = [];
  #cursor: string | undefined;
  #total: number;
  #isComplete = false;
  #isReading = false;
  #wanted = -1;
  #error: Error | undefined;

  /**
   * @param total as far as it is known before the first page
   * @param onChange after each page, and after a failure
   */
  constructor(fetchPage: FetchPage<T>, total: number, onChange: () => void) {
    this.#fetchPage = fetchPage;
    this.#total = total;
    this.#onChange = onChange;
  }

  /** Read so far, from the first on. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** Of the whole list, read or not. */
  get total(): number {
    return this.#isComplete ? this.#items.length : Math.max(this.#total, this.#items.length);
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Why reading stopped; `retry` goes on. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Reads until the item at `index` is there. A later call with a smaller index stops the way to the larger one. */
  ensure(index: number): void {
    this.#wanted = index;
    if (!this.#isReading && this.#error === undefined) void this.#read();
  }

  retry(): void {
    this.#error = undefined;
    this.ensure(this.#wanted);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (!this.#isComplete && this.#items.length <= this.#wanted) {
      try {
        const page = await this.#fetchPage(this.#cursor);
        for (const item of page.items) this.#items.push(item);
        this.#cursor = page.next;
        this.#total = page.total;
        this.#isComplete = page.next === undefined;
      } catch (error) {
        this.#error = error as Error;
        this.#wanted = -1;
      }
      this.#onChange();
      if (this.#error !== undefined) break;
    }
    this.#isReading = false;
  }
}
