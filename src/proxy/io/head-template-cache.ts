/**
 * Heads that upstream-head.ts and downstream-head.ts have made from fields, kept with those fields (`made` of
 * http/heads/field-section.ts) for the messages that repeat them on a connection. A head depends on more than the fields, such
 * as the route, so there may be several at a time. Each takes as much memory as the fields, so few are kept; and a
 * connection that keeps changing between more routes stops caching after `COUNT_MAX`.
 */

/** At one time. */
const AT_ONCE = 2;
/** Over all. */
const COUNT_MAX = 16;

export class HeadTemplateCache<P> {
  readonly all: P[] = [];
  #count = 0;

  /** Whether more of them are worth keeping. */
  get isOpen(): boolean {
    return this.#count < COUNT_MAX;
  }

  /** In the place of the oldest ones, when there are enough. */
  keep(template: P): void {
    this.all[this.#count % AT_ONCE] = template;
    this.#count += 1;
  }
}
