/**
 * The Unix socket for traffic. It is created under another name, each worker gets a copy (descriptor-copies.ts), and
 * once they accept, it is moved to its path. That replaces a socket left by a crash, or the socket of the gateway that
 * this one takes over from, without a moment in which clients find none. Owns the file, and removes it at the end
 * unless another process has replaced it. A socket from the service manager (sd_listen_fds(3)) is neither moved nor
 * removed, and clients wait in it while no gateway runs.
 */
import { chmodSync, lstatSync, readdirSync, renameSync, rmSync, statSync, type Stats } from 'node:fs';
import * as net from 'node:net';
import { basename, dirname, join } from 'node:path';
import { systemReason } from '../../lib/error-message.ts';
import type { Logger } from '../../observe/log.ts';
import { descriptorCopies, type DescriptorCopy } from './descriptor-copies.ts';

/** Copies kept ready for workers that replace others. */
const SPARE_COPIES = 2;
/** Until copying is tried again after a failure, doubled with each. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;
const NO_SOCKET = 'the file at this path is not a socket';

interface SocketFile {
  readonly path: string;
  /** Its first name. */
  readonly making: string;
  /** Such as 0o660. */
  readonly mode: number;
}

export class UnixListener {
  /** undefined when the service manager has created it. */
  readonly #file: SocketFile | undefined;
  /** Of the file. */
  #inode: bigint | undefined;
  readonly #log: Logger;
  /** All copies ever created: libuv would close the descriptor of a garbage-collected copy. */
  readonly #copies: DescriptorCopy[];
  /** The first copy, from which others are made. */
  #source: number;
  #next = 1;
  #isCopying = false;
  #isRemoved = false;
  #retryMs = RETRY_MS_MIN;

  private constructor(file: SocketFile | undefined, copies: DescriptorCopy[], log: Logger) {
    this.#file = file;
    if (file !== undefined) this.#inode = inodeAt(file.making);
    this.#copies = copies;
    this.#source = (copies[0] as DescriptorCopy).fd;
    this.#log = log;
  }

  /**
   * @param mode mode of the file, such as 0o660
   * @param workers number of workers that will each take a copy
   * @throws Error with the system's message
   */
  static async open(path: string, mode: number, workers: number, log: Logger): Promise<UnixListener> {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSocket() === false) throw new Error(NO_SOCKET);
    const file = { path, making: `${path}.${process.pid}`, mode };
    await removeAbandoned(path);
    return new UnixListener(file, await made(file, 1 + workers + SPARE_COPIES), log);
  }

  /** @param fd descriptor from the service manager @throws Error when it is not a listening Unix socket */
  static async inherit(fd: number, workers: number, log: Logger): Promise<UnixListener> {
    const copies: DescriptorCopy[] = [];
    // One at a time: it has clients, which the copying program must not accept.
    while (copies.length < 1 + workers + SPARE_COPIES) copies.push(...(await descriptorCopies(fd, 1)));
    return new UnixListener(undefined, copies, log);
  }

  /** Clients can connect from now on. Throws the system's error. */
  publish(): void {
    if (this.#file !== undefined) renameSync(this.#file.making, this.#file.path);
  }

  /** A descriptor for a worker to listen on and close; undefined if there is none at the moment: ask again later. */
  take(): number | undefined {
    const copy = this.#copies[this.#next];
    if (copy !== undefined) this.#next += 1;
    this.#refill();
    return copy?.fd;
  }

  /**
   * Creates the socket again if its file is gone: another gateway replaced it, and failed to take over. Never rejects.
   * @returns whether each worker needs another copy, since clients no longer find the socket that it has
   */
  async restore(): Promise<boolean> {
    const file = this.#file;
    if (file === undefined) return false;
    const { path, making } = file;
    try {
      if (inodeAt(path) === this.#inode || (await unixSocketProblem(path)) !== undefined) return false;
      const copies = await made(file, 1 + SPARE_COPIES);
      if (this.#isRemoved) return false;
      this.#inode = inodeAt(making);
      renameSync(making, path);
      this.#source = (copies[0] as DescriptorCopy).fd;
      this.#next = this.#copies.push(...copies) - SPARE_COPIES;
      this.#log.warn({ path }, 'the Unix socket for traffic is open again');
      return true;
    } catch (error) {
      this.#log.error({ err: error, path }, 'cannot reopen the Unix socket for traffic');
      return false;
    } finally {
      rmSync(making, { force: true });
    }
  }

  /** Hides the socket from new clients. Queued connections are still accepted. */
  remove(): void {
    this.#isRemoved = true;
    if (this.#file === undefined) return;
    const { path, making } = this.#file;
    rmSync(making, { force: true });
    try {
      if (inodeAt(path) === this.#inode) rmSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#log.warn({ err: error, path }, 'cannot remove the Unix socket');
    }
  }

  #refill(): void {
    if (this.#isCopying || this.#copies.length - this.#next >= SPARE_COPIES) return;
    this.#isCopying = true;
    const goOn = (): void => {
      this.#isCopying = false;
      this.#refill();
    };
    const source = this.#source;
    descriptorCopies(source, 1).then(
      (copies) => {
        // The socket may have been made anew meanwhile.
        if (source === this.#source) this.#copies.push(...copies);
        this.#retryMs = RETRY_MS_MIN;
        goOn();
      },
      (error: unknown) => {
        this.#log.error({ err: error, retry_ms: this.#retryMs }, 'cannot share the Unix socket');
        setTimeout(goOn, this.#retryMs).unref();
        this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
      },
    );
  }
}

/** Creates a socket under its first name. @throws Error with the system's message */
async function made({ making, mode }: SocketFile, count: number): Promise<DescriptorCopy[]> {
  rmSync(making, { force: true });
  try {
    const copies = await descriptorCopies(making, count);
    chmodSync(making, mode);
    return copies;
  } catch (error) {
    rmSync(making, { force: true });
    throw error;
  }
}

const inodeAt = (path: string): bigint | undefined =>
  lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;

/** Removes the sockets of gateways that were killed before they moved them to the path. Those that stay do no harm. */
async function removeAbandoned(path: string): Promise<void> {
  const [folder, start] = [dirname(path), `${basename(path)}.`];
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    // What is wrong with the folder is told when the socket is created.
  }
  for (const name of names) {
    if (!name.startsWith(start) || !/^\d{1,10}$/.test(name.slice(start.length))) continue;
    const abandoned = join(folder, name);
    try {
      if (lstatSync(abandoned).isSocket() && !(await isListenedOn(abandoned))) rmSync(abandoned);
    } catch {
      // Its process has moved or removed it, or it belongs to another user.
    }
  }
}

/**
 * Why the path cannot be used: another process listens there, it is not a socket, or its folder cannot be used.
 * undefined when it can be used.
 */
export async function unixSocketProblem(path: string): Promise<string | undefined> {
  const folder = dirname(path);
  let stat: Stats | undefined;
  try {
    stat = lstatSync(path, { throwIfNoEntry: false });
    // For a missing folder Node.js would say that permission is denied.
    if (stat === undefined && statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      return `there is no folder "${folder}"`;
  } catch (error) {
    return systemReason(error);
  }
  if (stat === undefined) return undefined;
  if (!stat.isSocket()) return NO_SOCKET;
  return (await isListenedOn(path)) ? 'another process listens there' : undefined;
}

/** A socket without a process refuses connections. */
function isListenedOn(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // A full queue means that a process has the socket.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EAGAIN'));
  });
}
