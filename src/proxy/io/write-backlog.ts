/**
 * How many bytes of bodies this worker keeps as copies for peers that do not read. When they are many, sockets read
 * less at a time (read-buffers.ts) and what is written is copied to the byte (socket-writer.ts): both cost system
 * calls, which is better than memory that grows with the number of slow peers. Owns the count.
 */

/** Beyond it, memory is spared. */
export const BACKLOG_BYTES_MAX = 8 * 1024 * 1024;

let backlog = 0;

/** Each is owed to `removeFromBacklog`. */
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
  return backlog > BACKLOG_BYTES_MAX;
}

/** In this thread. */
export function backlogBytes(): number {
  return backlog;
}
