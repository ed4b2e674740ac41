/**
 * The snapshot file: the last good configuration, stored beside the database, so that a start can serve traffic while
 * the database is gone, locked or corrupt. It holds the whole configuration, followed by the changes since
 * (snapshot-parts.ts), in the format of snapshot-log.ts.
 *
 * A new file is written under a temporary name with mode 0600, synchronised and renamed, so the path always leads to a
 * whole file or to none. It contains hashes of keys and the sealed secrets of policies, but no admin tokens and no
 * audit log.
 */
import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemReason, systemCode } from '../../lib/error-message.ts';
import { StorageRefused } from '../../storage/storage-errors.ts';
import { openAppTree, type MaybeSealing } from '../../storage/secrets/sealed-config.ts';
import { syncFolder } from '../../storage/sqlite/sqlite-file.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { framesOf, SnapshotLogWriter, SnapshotRefused, type Frame } from './snapshot-log.ts';
import { applyPart } from './snapshot-parts.ts';

const FILE_MODE = 0o600;
/** Suffix of a temporary name, after the path and the process id. */
const TEMPORARY_END = '.new';

/** Ends a group: the configuration is complete as of this version. */
interface GroupEnd {
  readonly config_version: number;
  /** RFC 3339. */
  readonly written_at: string;
}

/** A file that is being written: under its temporary name until `putInPlace`, and appended to from then on. */
export class SnapshotFile {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #log: SnapshotLogWriter;
  /** Inode of the file that will be replaced. */
  readonly #before: number | undefined;
  #inode: number | undefined;
  #firstGroupBytes = 0;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
    this.#log = new SnapshotLogWriter(file);
    this.#before = inodeOf(path);
  }

  static async create(path: string): Promise<SnapshotFile> {
    rmSync(temporaryOf(path), { force: true });
    return new SnapshotFile(path, await open(temporaryOf(path), 'wx', FILE_MODE));
  }

  /** Whether a start would read this file. */
  get isInPlace(): boolean {
    return this.#inode !== undefined && inodeOf(this.#path) === this.#inode;
  }

  /** Whether another file is in its place. */
  get isReplaced(): boolean {
    const now = inodeOf(this.#path);
    return this.#inode !== undefined && now !== undefined && now !== this.#inode;
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  /** Size of the changes since the first group. */
  get changeBytes(): number {
    return this.#log.bytes - this.#firstGroupBytes;
  }

  async append(part: Frame): Promise<void> {
    await this.#log.append(part.kind, part.payload);
  }

  /** Ends the group of parts, which makes them valid. */
  async endGroup(configVersion: number, writtenAt: string): Promise<void> {
    const end: GroupEnd = { config_version: configVersion, written_at: writtenAt };
    await this.#log.append('DONE', Buffer.from(JSON.stringify(end)));
    this.#firstGroupBytes ||= this.#log.bytes;
  }

  async sync(): Promise<void> {
    await this.#file.datasync();
  }

  /** Renames the file, which replaces the old one. */
  async putInPlace(): Promise<void> {
    await this.#file.sync();
    const inode = (await this.#file.stat()).ino;
    if (inodeOf(this.#path) !== this.#before) throw new Error('another process has replaced it');
    renameSync(temporaryOf(this.#path), this.#path);
    syncFolder(dirname(this.#path));
    this.#inode = inode;
  }

  /** Never rejects. Removes a file that was not put in place. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    if (this.#inode !== undefined) return;
    try {
      rmSync(temporaryOf(this.#path), { force: true });
    } catch {
      // The disk has become read-only; the next start removes the file.
    }
  }
}

function temporaryOf(path: string): string {
  return `${path}.${process.pid}${TEMPORARY_END}`;
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** Removes temporary files of processes that were killed while writing. */
export function removeLeftovers(path: string): void {
  const start = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(start) || !name.endsWith(TEMPORARY_END)) continue;
    const pid = Number(name.slice(start.length, -TEMPORARY_END.length));
    if (Number.isSafeInteger(pid) && !isAlive(pid)) rmSync(join(dirname(path), name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

/**
 * Whether the file exists; its content is not checked.
 * @throws StorageRefused when the system does not tell: a lost database would be taken for a new one
 */
export function hasSnapshotFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch (error) {
    throw new StorageRefused(
      `Cannot look for the snapshot file "${path}": ${systemReason(error)}; expected a folder that Headgate may read and write`,
      error,
    );
  }
}

export interface SavedConfig {
  readonly state: ConfigState;
  readonly configVersion: number;
  /** RFC 3339. */
  readonly writtenAt: string;
  /** Ids of records whose secret could not be decrypted; their routes refuse every token. */
  readonly closedRecords: readonly string[];
}

/**
 * Reads the file. It must be unchanged and whole, except that the last appended group may be incomplete.
 * @param sealing opens the secrets
 * @returns the configuration, or an error message for the operator
 */
export function readSnapshotFile(
  path: string,
  sealing: MaybeSealing,
): SavedConfig | { readonly error: string } {
  try {
    const { state, end } = readGroups(path);
    const closedRecords: string[] = [];
    const change = state.asWorkerChange();
    const apps = change.apps.map((app) => openAppTree(app, sealing, (id) => closedRecords.push(id)));
    state.apply({ ...change, configVersion: end.config_version, apps }, true);
    return { state, configVersion: end.config_version, writtenAt: end.written_at, closedRecords };
  } catch (error) {
    const reason = systemReason(error);
    return { error: `Cannot use the snapshot file "${path}": ${reason}` };
  }
}

function readGroups(path: string): { readonly state: ConfigState; readonly end: GroupEnd } {
  const state = new ConfigState();
  let end: GroupEnd | undefined;
  let group: Frame[] = [];
  const descriptor = openSync(path, 'r');
  try {
    for (const frame of framesOf(descriptor)) {
      if (frame.kind === 'DONE') {
        for (const part of group) applyPart(state, part, 0);
        group = [];
        end = JSON.parse(frame.payload.toString('utf8')) as GroupEnd;
        // The first group may be large: it is applied as it is read. Without its end, the state is not used.
      } else if (end === undefined) applyPart(state, frame, 0);
      else group.push(frame);
      // No worker reads the keys yet.
      state.keys.release(state.keys.takeRetired());
    }
  } finally {
    closeSync(descriptor);
  }
  if (end === undefined) throw new SnapshotRefused('it ends too early, as after a crash or on a full disk');
  return { state, end };
}
