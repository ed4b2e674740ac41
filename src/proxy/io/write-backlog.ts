/**
 * The write backlog of this worker: bytes of bodies that it keeps as copies for peers that do not read. If the backlog
 * is over its limit, sockets read less at a time (read-buffers.ts), and only bytes that the system does not accept are
 * copied (socket-writer.ts). Both cost system calls; otherwise memory would grow with the number of slow peers. Owns
 * the count.
 */

/** Where memory is plentiful. */
export const BACKLOG_BYTES_MAX = 8 * 1024 * 1024;

let backlog = 0;
let backlogMax = BACKLOG_BYTES_MAX;

/** For this thread, where memory is small. */
export function limitBacklog(bytes: number): void {
  backlogMax = Math.min(BACKLOG_BYTES_MAX, bytes);
}

/** The caller must call `removeFromBacklog` with the same number. */
export function addToBacklog(bytes: number): void {
  backlog += bytes;
}

export function removeFromBacklog(bytes: number): void {
  backlog -= bytes;
}

/** A copy of `bytes[from, to)` that counts until it is released, once. */
export function retainedCopy(
  bytes: Buffer,
  from = 0,
  to = bytes.length,
): { readonly copy: Buffer; readonly release: () => void } {
  const copy = Buffer.from(bytes.subarray(from, to));
  addToBacklog(copy.length);
  return { copy, release: () => removeFromBacklog(copy.length) };
}

export function isOverLimit(): boolean {
  return backlog > backlogMax;
}

/** Backlog of this thread. */
export function backlogBytes(): number {
  return backlog;
}
