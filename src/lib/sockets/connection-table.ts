/**
 * The connections of the system whose peer does not acknowledge what it was sent: `/proc/net/tcp` of proc_net(5). While
 * that is so, Linux sends the same bytes again and again, or asks a peer that had no room whether it has some now. Any
 * answer of the peer sets the count back to 0.
 */

export const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/**
 * The peer's port; the kind of timer; the number of repetitions, which is meant by timer 1; the number of questions,
 * which is meant by timer 4; the inode of the socket.
 */
const ROW =
  /:([\dA-F]{4}) [\dA-F]{2} [\dA-F]{8}:[\dA-F]{8} 0([14]):[\dA-F]{8,16} ([\dA-F]{8}) +\d+ +(\d+) (\d+)/g;
const REPEATS = '1';

export class UnansweredSockets {
  readonly #countByInode = new Map<string, number>();
  readonly #ports = new Set<number>();

  /** @param rows whole rows of the table */
  add(rows: string): void {
    for (const [, port = '', timer, repetitions = '', questions = '', inode = ''] of rows.matchAll(ROW)) {
      const count = timer === REPEATS ? parseInt(repetitions, 16) : Number(questions);
      if (count === 0) continue;
      this.#countByInode.set(inode, count);
      this.#ports.add(parseInt(port, 16));
    }
  }

  /** Whether one of them has this port at its peer. */
  hasPort(port: number | undefined): boolean {
    return port !== undefined && this.#ports.has(port);
  }

  /** How often the peer has not answered. */
  count(inode: string | undefined): number {
    return (inode === undefined ? undefined : this.#countByInode.get(inode)) ?? 0;
  }
}
