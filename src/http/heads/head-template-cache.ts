/**
 * Heads that the proxy has created from fields (upstream-head.ts, downstream-head.ts), cached with those fields
 * (`FieldSection.templates`) for messages that repeat them on a connection. A head depends on more than the fields,
 * such as the route, so there may be several at a time. Each takes as much memory as the fields, so few are cached;
 * a connection that keeps changing between more routes stops caching after `COUNT_MAX`.
 */

/** Cached at one time. */
const AT_ONCE = 2;
/** Cached in total. */
const COUNT_MAX = 16;

export class HeadTemplateCache<T> {
  readonly all: T[] = [];
  #count = 0;

  /** Whether caching more of them is useful. */
  get isOpen(): boolean {
    return this.#count < COUNT_MAX;
  }

  /** Adds a head; replaces the oldest one if the cache is full. */
  keep(template: T): void {
    this.all[this.#count % AT_ONCE] = template;
    this.#count += 1;
  }
}
