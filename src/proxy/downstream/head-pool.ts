/**
 * Request heads that connections take for the time of a request: the tables of a head are larger than all else that a
 * connection at rest owns, and ten thousand clients that drip a head have no use for one yet. Who sends request after
 * request keeps its head in between, with the fields that were in it (`isRepeated` of http/field-section.ts), until it
 * has been at rest for a while. Owns the heads that are free in this thread.
 */
import { RequestHead } from '../../http/request-head.ts';

/** Heads kept for later; as many requests under way at one time need no new one. */
const FREE_MAX = 256;

/** How long a connection at rest keeps its head. */
export const HEAD_RETAINED_MS = 2_000;

/** Of a connection without a request; nobody parses into it. */
export const NO_HEAD = new RequestHead();

const free: RequestHead[] = [];

/** A head to parse into. Owed to `releaseHead` unless somebody may still look at it; then it is left to the collector. */
export function acquireHead(): RequestHead {
  return free.pop() ?? new RequestHead();
}

/** Nobody looks at it from now on. */
export function releaseHead(head: RequestHead): void {
  if (head === NO_HEAD) return;
  head.forget();
  // Of all else that a request leaves behind, a head that cannot be parsed would show this.
  head.httpMinor = 1;
  if (free.length < FREE_MAX) free.push(head);
}
