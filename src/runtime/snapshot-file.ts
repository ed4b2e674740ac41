/**
 * The snapshot file: the last good configuration beside the database, so that a start can serve traffic while the
 * database is gone, locked or corrupt. Lines of JSON: a head with the format, one line for each API key and each
 * app, and a tail with the config version, the number of lines and the SHA-256 of all lines and that version. A file
 * without a fitting tail is torn or damaged, and refused as a whole.
 *
 * Written under another name, synchronised and renamed, mode 0600: there is always a whole file or none. It holds
 * hashes of keys, and the secrets of policies sealed as in the database; no admin tokens and no audit log.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  fsync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { AppTree, ConfigChange } from '../model/config.ts';
import type { StoredApiKey } from '../model/resources.ts';
import type { Repository } from '../storage/repository.ts';
import { openAppTree, sealAppTree } from '../storage/sealed-config.ts';
import type { SecretBox } from '../storage/secret-box.ts';
import { syncFolder } from '../storage/sqlite-file.ts';

const FORMAT = 'headgate snapshot 1';
const FILE_MODE = 0o600;
/** After the path and the id of the process that writes. */
const TEMPORARY_END = '.new';
/** Written at once; also the size of a read. */
const BLOCK_BYTES = 1_048_576;
/** One app with all below it is one line. */
const LINE_BYTES_MAX = 256 * 1_048_576;
const NEW_LINE = 0x0a;
const syncFile = promisify(fsync);

interface Head {
  readonly format: string;
  /** RFC 3339. */
  readonly written_at: string;
}

type Line = { readonly app: AppTree } | { readonly key: StoredApiKey };

interface Tail {
  readonly lines: number;
  readonly config_version: number;
  readonly sha256: string;
}

export interface SavedConfig {
  /** Everything, as `loadAll` gives it. */
  readonly change: ConfigChange;
  /** RFC 3339. */
  readonly writtenAt: string;
  /** Records whose secret could not be opened; they refuse every token. */
  readonly closedRecords: readonly string[];
}

/**
 * Writes what the database holds now; resolves with its config version when the file is on disk under its name.
 * Rejects when the database cannot be read or the file not be written; the file before stays then.
 */
export async function writeSnapshotFile(
  path: string,
  repository: Pick<Repository, 'loadAll'>,
  box: SecretBox,
  writtenAt: string,
): Promise<number> {
  const temporary = `${path}.${process.pid}${TEMPORARY_END}`;
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, 'wx', FILE_MODE);
  try {
    const body = new LineWriter(descriptor);
    body.write({ format: FORMAT, written_at: writtenAt });
    // The repository hands the event loop over between its batches.
    const change = await repository.loadAll((keys) => {
      for (const key of keys) body.write({ key });
      body.flush();
    });
    for (const app of change.apps) {
      body.write({ app: sealAppTree(app, box) });
      if (!body.isBlockFull) continue;
      body.flush();
      await new Promise((done) => setImmediate(done));
    }
    body.end(change.configVersion);
    await syncFile(descriptor);
    renameSync(temporary, path);
    syncFolder(dirname(path));
    return change.configVersion;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
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

/** Collects lines to blocks and their checksum. */
class LineWriter {
  readonly #descriptor: number;
  readonly #hash = createHash('sha256');
  #lines: string[] = [];
  #characters = 0;
  #count = 0;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get isBlockFull(): boolean {
    return this.#characters >= BLOCK_BYTES;
  }

  write(line: Head | Line): void {
    const text = `${JSON.stringify(line)}\n`;
    this.#lines.push(text);
    this.#characters += text.length;
    this.#count += 1;
  }

  flush(): void {
    const block = Buffer.from(this.#lines.join(''), 'utf8');
    this.#lines = [];
    this.#characters = 0;
    this.#hash.update(block);
    writeWhole(this.#descriptor, block);
  }

  end(configVersion: number): void {
    this.flush();
    const tail: Tail = {
      lines: this.#count,
      config_version: configVersion,
      sha256: this.#hash.update(String(configVersion)).digest('hex'),
    };
    writeWhole(this.#descriptor, Buffer.from(`${JSON.stringify(tail)}\n`));
  }
}

function writeWhole(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) {
    written += writeSync(descriptor, bytes, written, bytes.length - written);
  }
}

/** Whether there is one; says nothing of its content. */
export function hasSnapshotFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/**
 * Reads a file that must be whole and unchanged.
 * @param box opens the secrets; undefined when there is no key
 * @returns the configuration, or in words for the operator why there is none
 */
export function readSnapshotFile(
  path: string,
  box: SecretBox | undefined,
): SavedConfig | { readonly error: string } {
  const refused = (reason: string): { readonly error: string } => ({
    error: `Cannot use the snapshot file "${path}": ${reason}`,
  });
  try {
    const { head, tail, apps, keys } = readLines(path);
    const closedRecords: string[] = [];
    const change: ConfigChange = {
      configVersion: tail.config_version,
      reset: true,
      apps: apps.map((app) => openAppTree(app, box, (id) => closedRecords.push(id))),
      removedAppIds: [],
      versions: [],
      removedVersionIds: [],
      keys,
      removedKeyIds: [],
    };
    return { change, writtenAt: head.written_at, closedRecords };
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
}

/** Thrown with the reason by `readLines`. */
class Refused extends Error {}

interface Lines {
  readonly head: Head;
  readonly tail: Tail;
  readonly apps: AppTree[];
  readonly keys: StoredApiKey[];
}

/** Nothing of what is read is used before the checksum has been seen to fit. */
function readLines(path: string): Lines {
  const hash = createHash('sha256');
  const texts: string[] = [];
  for (const line of linesOf(path)) {
    const text = line.toString('utf8');
    if (text.startsWith('{"lines":')) {
      const tail = JSON.parse(text) as Tail;
      assertTail(tail, texts.length, hash.update(String(tail.config_version)).digest('hex'));
      return parseLines(texts, tail);
    }
    hash.update(line).update('\n');
    texts.push(text);
  }
  throw new Refused('it ends too early, as after a crash or on a full disk');
}

function assertTail(tail: Tail, lines: number, sha256: string): void {
  if (tail.lines === lines && tail.sha256 === sha256) return;
  throw new Refused('its checksum does not fit: it was damaged or changed');
}

function parseLines(texts: readonly string[], tail: Tail): Lines {
  const head = JSON.parse(texts[0] ?? '{}') as Head;
  if (head.format !== FORMAT) {
    throw new Refused(`it has the format ${JSON.stringify(head.format)}; expected "${FORMAT}"`);
  }
  const apps: AppTree[] = [];
  const keys: StoredApiKey[] = [];
  for (let index = 1; index < texts.length; index++) {
    const line = JSON.parse(texts[index] ?? '') as Line;
    if ('app' in line) apps.push(line.app);
    else keys.push(line.key);
  }
  return { head, tail, apps, keys };
}

/** The lines of a file, without their ends; what follows the last end is none. */
function* linesOf(path: string): Generator<Buffer> {
  const descriptor = openSync(path, 'r');
  try {
    let rest: Buffer[] = [];
    let restBytes = 0;
    for (;;) {
      const block = Buffer.allocUnsafe(BLOCK_BYTES);
      const bytes = readSync(descriptor, block, 0, BLOCK_BYTES, null);
      if (bytes === 0) return;
      let from = 0;
      for (let end = block.indexOf(NEW_LINE); end >= 0 && end < bytes; end = block.indexOf(NEW_LINE, from)) {
        yield Buffer.concat([...rest, block.subarray(from, end)]);
        [rest, restBytes, from] = [[], 0, end + 1];
      }
      rest.push(block.subarray(from, bytes));
      restBytes += bytes - from;
      if (restBytes > LINE_BYTES_MAX) throw new Refused('it is no snapshot file');
    }
  } finally {
    closeSync(descriptor);
  }
}
