/**
 * What upstream-head.ts and downstream-head.ts make of fields and keep with them (`made` of http/field-section.ts), for
 * the messages that repeat them on a connection. It depends on more than the fields, on the route for one, so there may
 * be several at a time; few, since each takes as much memory as the fields, and only so many over all: whoever asks by
 * turns for more routes than are kept would make each of them in vain.
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
