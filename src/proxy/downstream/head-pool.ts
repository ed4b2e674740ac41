/**
 * Parsed request heads, for connections with a request under way. A head takes more memory than the rest of an idle
 * connection. A connection that has served several requests keeps its head, with the fields in it (`isRepeated` of
 * http/heads/field-section.ts), until it was idle for a while. Owns the free heads of this thread.
 */
import { RequestHead } from '../../http/heads/request-head.ts';
import type { ClientHead } from '../interfaces/head-templates.ts';

/** Free heads in the pool. */
const FREE_MAX = 256;

/** How long an idle connection keeps its head. */
export const HEAD_RETAINED_MS = 2_000;

/** The head of a connection without a request. Never parsed into. */
export const NO_HEAD: ClientHead = new RequestHead();

const free: ClientHead[] = [];

/**
 * A head to parse into. The caller releases it, unless other code may still read it; then garbage collection frees it.
 */
export function acquireHead(): ClientHead {
  return free.pop() ?? new RequestHead();
}

/** The head must not be used afterwards. */
export function releaseHead(head: ClientHead): void {
  if (head === NO_HEAD) return;
  head.forget();
  // Otherwise a later head that cannot be parsed would show this id.
  head.httpMinor = 1;
  if (free.length < FREE_MAX) free.push(head);
}
