/**
 * The snapshot file: the last good configuration beside the database, so that a start can serve traffic while the
 * database is gone, locked or corrupt. Its form is that of snapshot-log.ts, what is in it that of snapshot-parts.ts:
 * everything once, and behind that what has changed since.
 *
 * A new file is written under another name, synchronised and renamed, mode 0600: there is always a whole file or none.
 * It holds hashes of keys, and the secrets of policies sealed as in the database; no admin tokens and no audit log.
 */
import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openAppTree } from '../../storage/secrets/sealed-config.ts';
import type { SecretBox } from '../../storage/secrets/secret-box.ts';
import { syncFolder } from '../../storage/sqlite/sqlite-file.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { framesOf, SnapshotLogWriter, SnapshotRefused, type Frame } from './snapshot-log.ts';
import { applyPart } from './snapshot-parts.ts';

const FILE_MODE = 0o600;
/** After the path and the id of the process that writes. */
const TEMPORARY_END = '.new';

/** What the end of a group says: this is the configuration, as of then. */
interface GroupEnd {
  readonly config_version: number;
  /** RFC 3339. */
  readonly written_at: string;
}

/** A file that is being written: under its temporary name until it is put in place, and appended to from then on. */
export class SnapshotFile {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #log: SnapshotLogWriter;
  /** Of the file that is to be replaced. */
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

  /** Whether it is the one that a start would read. */
  get isInPlace(): boolean {
    return this.#inode !== undefined && inodeOf(this.#path) === this.#inode;
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  /** How much of it is what has changed since it was begun. */
  get changeBytes(): number {
    return this.#log.bytes - this.#firstGroupBytes;
  }

  async append(part: Frame): Promise<void> {
    await this.#log.append(part.kind, part.payload);
  }

  /** What was appended counts from now on. */
  async endGroup(configVersion: number, writtenAt: string): Promise<void> {
    const end: GroupEnd = { config_version: configVersion, written_at: writtenAt };
    await this.#log.append('DONE', Buffer.from(JSON.stringify(end)));
    this.#firstGroupBytes ||= this.#log.bytes;
  }

  async sync(): Promise<void> {
    await this.#file.datasync();
  }

  /** Takes the name, and the place of the file that has it. */
  async putInPlace(): Promise<void> {
    await this.#file.sync();
    const inode = (await this.#file.stat()).ino;
    if (inodeOf(this.#path) !== this.#before) throw new Error('another process has written it meanwhile');
    renameSync(temporaryOf(this.#path), this.#path);
    syncFolder(dirname(this.#path));
    this.#inode = inode;
  }

  /** Never rejects. A file that never got its name is removed. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    if (this.#inode !== undefined) return;
    try {
      rmSync(temporaryOf(this.#path), { force: true });
    } catch {
      // On a disk that has turned read-only: the next start removes it.
    }
  }
}

function temporaryOf(path: string): string {
  return `${path}.${process.pid}${TEMPORARY_END}`;
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** Removes what processes that were killed in the middle of writing have left behind. */
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
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Whether there is one; says nothing of its content. */
export function hasSnapshotFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

export interface SavedConfig {
  readonly state: ConfigState;
  readonly configVersion: number;
  /** RFC 3339. */
  readonly writtenAt: string;
  /** Records whose secret could not be opened; they refuse every token. */
  readonly closedRecords: readonly string[];
}

/**
 * Reads a file that must be whole, but for the end of what was appended last, and unchanged.
 * @param box opens the secrets; undefined when there is no key
 * @returns the configuration, or in words for the operator why there is none
 */
export function readSnapshotFile(
  path: string,
  box: SecretBox | undefined,
): SavedConfig | { readonly error: string } {
  try {
    const { state, end } = readGroups(path);
    const closedRecords: string[] = [];
    const change = state.asWorkerChange();
    const apps = change.apps.map((app) => openAppTree(app, box, (id) => closedRecords.push(id)));
    state.apply({ ...change, configVersion: end.config_version, apps }, true);
    return { state, configVersion: end.config_version, writtenAt: end.written_at, closedRecords };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
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
        // The first group may be large: it is applied as it comes, since without its end nothing of it is used.
      } else if (end === undefined) applyPart(state, frame, 0);
      else group.push(frame);
      // Nobody reads the keys yet.
      state.keys.release(state.keys.takeRetired());
    }
  } finally {
    closeSync(descriptor);
  }
  if (end === undefined) throw new SnapshotRefused('it ends too early, as after a crash or on a full disk');
  return { state, end };
}
