/**
 * The Unix socket for traffic. It is made under another name, each worker gets a copy of it (descriptor-copies.ts), and
 * when they accept it is moved to its path. That replaces one that a crash has left, or that of the gateway from which
 * this one takes over: at no moment a client finds none. Owns the file, and removes it at the end if it is still its
 * own. A socket that the service manager has made (sd_listen_fds(3)) is neither moved nor removed, and clients wait in
 * it while there is no gateway.
 */
import { chmodSync, lstatSync, renameSync, rmSync } from 'node:fs';
import * as net from 'node:net';
import type { Logger } from '../../observe/log.ts';
import { descriptorCopies, type DescriptorCopy } from './descriptor-copies.ts';

/** Copies at hand for workers that replace others. */
const SPARE_COPIES = 2;
const NO_SOCKET = 'there is a file at this path that is no socket';

export class UnixListener {
  /** undefined: the service manager has made it. */
  readonly #file: { readonly path: string; readonly making: string; readonly inode: bigint } | undefined;
  readonly #log: Logger;
  /** All copies ever made: libuv would close the descriptor of one that is collected. */
  readonly #copies: DescriptorCopy[];
  /** The first copy, from which others are made. */
  readonly #source: number;
  #next = 1;
  #isCopying = false;

  private constructor(making: string | undefined, path: string, copies: DescriptorCopy[], log: Logger) {
    if (making !== undefined) this.#file = { path, making, inode: lstatSync(making, { bigint: true }).ino };
    this.#copies = copies;
    this.#source = (copies[0] as DescriptorCopy).fd;
    this.#log = log;
  }

  /**
   * @param mode of the file, such as 0o660
   * @param workers that will each take a copy
   * @throws Error with the system's message
   */
  static async open(path: string, mode: number, workers: number, log: Logger): Promise<UnixListener> {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSocket() === false) throw new Error(NO_SOCKET);
    const making = `${path}.${process.pid}`;
    rmSync(making, { force: true });
    try {
      const copies = await descriptorCopies(making, 1 + workers + SPARE_COPIES);
      chmodSync(making, mode);
      return new UnixListener(making, path, copies, log);
    } catch (error) {
      rmSync(making, { force: true });
      throw error;
    }
  }

  /**
   * @param fd that the service manager has passed
   * @throws Error when it is no Unix socket that listens
   */
  static async inherit(fd: number, workers: number, log: Logger): Promise<UnixListener> {
    const copies: DescriptorCopy[] = [];
    // One by one: it has clients, which the program that copies it must not accept.
    while (copies.length < 1 + workers + SPARE_COPIES) copies.push(...(await descriptorCopies(fd, 1)));
    return new UnixListener(undefined, '', copies, log);
  }

  /** Clients can connect from now on. Throws the system's error. */
  publish(): void {
    if (this.#file !== undefined) renameSync(this.#file.making, this.#file.path);
  }

  /** A descriptor that a worker listens on and closes; undefined if there is none at the moment. */
  take(): number | undefined {
    const copy = this.#copies[this.#next];
    if (copy === undefined) this.#log.error('a worker starts without the Unix socket');
    else this.#next += 1;
    if (this.#copies.length - this.#next < SPARE_COPIES) this.#refill();
    return copy?.fd;
  }

  /** No new client finds it. Connections that are queued are still accepted. */
  remove(): void {
    if (this.#file === undefined) return;
    const { path, making, inode } = this.#file;
    rmSync(making, { force: true });
    try {
      if (lstatSync(path, { bigint: true }).ino === inode) rmSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#log.warn({ err: error, path }, 'cannot remove the Unix socket');
    }
  }

  #refill(): void {
    if (this.#isCopying) return;
    this.#isCopying = true;
    descriptorCopies(this.#source, 1)
      .then(
        (copies) => void this.#copies.push(...copies),
        (error: unknown) => this.#log.error({ err: error }, 'cannot share the Unix socket'),
      )
      .finally(() => (this.#isCopying = false));
  }
}

/** Why the path cannot be had: another process listens there, or it is no socket. undefined: it can. */
export async function unixSocketProblem(path: string): Promise<string | undefined> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isSocket()) return NO_SOCKET;
  return (await isListenedOn(path)) ? 'another process listens there' : undefined;
}

/** A socket that a process has left refuses connections. */
function isListenedOn(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // A queue that is full is one that a process has.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EAGAIN'));
  });
}
