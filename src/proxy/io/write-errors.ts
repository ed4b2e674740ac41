/**
 * Keeps the reading side of a socket open when a write fails. A peer that answers and closes without reading all that it
 * was sent resets the connection (RFC 9112 section 9.6): the next write fails, while the whole answer is in the system's
 * buffer. Node closes both sides of a stream at its first error, and loses what was not read. Owns nothing: the socket
 * ends when its user has read to the end, or destroys it.
 */
import type { Socket } from 'node:net';

/**
 * @param onWriteError called once, from within the write or later; nothing may be written any more
 * @param onEnd the peer's end after such an error, in place of the event
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
  // The end is all that is pushed where reads go to memory of the user's own (`onread`); of a stream that has failed
  // Node tells it in no other way.
  socket.push = (chunk: unknown, encoding) => {
    if (!hasFailed || chunk !== null) return push(chunk, encoding);
    onEnd();
    return false;
  };
}
