/**
 * Keeps the reading side of a socket open when a write fails. A peer that responds and closes without reading
 * everything resets the connection (RFC 9112 section 9.6): the next write fails, while the whole response is in the
 * system's buffer. Node closes both sides of a stream at its first error and loses unread bytes. Owns nothing: the user
 * of the socket reads to the end, or destroys it.
 */
import type { Socket } from 'node:net';

/**
 * @param onWriteError called once, from within the write or later; no writes may follow
 * @param onEnd the peer's end after such an error, instead of the event
 */
export function readOnAfterWriteError(
  socket: Socket,
  onWriteError: (error: Error) => void,
  onEnd: () => void,
): void {
  const destroy = socket.destroy.bind(socket);
  const push = socket.push.bind(socket);
  let hasFailed = false;
  socket.destroy = (error) => {
    if (error === undefined || (error as NodeJS.ErrnoException).syscall !== 'write') return destroy(error);
    if (!hasFailed && !socket.destroyed) {
      hasFailed = true;
      onWriteError(error);
    }
    return socket;
  };
  // With the user's own read memory (`onread`), only the end is pushed; for a failed stream Node reports it in no other
  // way.
  socket.push = (chunk: unknown, encoding) => {
    if (!hasFailed || chunk !== null) return push(chunk, encoding);
    onEnd();
    return false;
  };
}
