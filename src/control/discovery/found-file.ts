/**
 * Stores found targets in a file beside the snapshot file, so that a gateway that starts while DNS is unavailable
 * has the targets that it had found before. The whole file is written a moment after a change, first under another
 * name. Failed reads and writes are logged and do no harm: everything is looked up anyway. The file is not
 * configuration: an entry is used only if a revision has its source, and egress rules apply at each connection.
 */
import { rename, writeFile } from 'node:fs/promises';
import { readBoundedFile } from '../../declaration/bounded-file.ts';
import { validate } from '../../management/api/validate.ts';
import {
  FOUND_FORMAT,
  FOUND_SOURCES_MAX,
  FoundTargetsSchema,
} from '../../management/schemas/revision-parts/discovery.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import type { FoundTarget } from '../../model/resources.ts';
import type { Logger } from '../../observe/log.ts';

const FILE_BYTES_MAX = 64 * 1_048_576;
/** The time from a change to the write. */
const PAUSE_MS = 500;

const SCHEMA = jsonSchema(FoundTargetsSchema);

interface Content {
  readonly sources: readonly { readonly key: string; readonly targets: readonly FoundTarget[] }[];
}

type Sources = Iterable<{ readonly key: string; readonly targets: readonly FoundTarget[] }>;

export class FoundFile {
  readonly #path: string;
  readonly #log: Logger;
  #sources: Sources | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Whether the last write has failed, which was logged. */
  #hasFailed = false;

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /** By key of the source; empty without a readable file. */
  read(): Map<string, readonly FoundTarget[]> {
    const found = readBoundedFile(this.#path, FILE_BYTES_MAX);
    if ('problem' in found) {
      if (!found.isMissing) this.#refuse(found.problem);
      return new Map();
    }
    let content: unknown;
    try {
      content = JSON.parse(Buffer.from(found.bytes).toString('utf8'));
    } catch {
      this.#refuse('it is not JSON');
      return new Map();
    }
    const [error] = validate(SCHEMA, content);
    if (error !== undefined) {
      this.#refuse(`${error.pointer} ${error.detail}`);
      return new Map();
    }
    return new Map((content as Content).sources.map(({ key, targets }) => [key, targets]));
  }

  /** @param sources read when it is written */
  changed(sources: Sources): void {
    this.#sources = sources;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    }, PAUSE_MS).unref();
  }

  /** Resolves when all changes are written, or cannot be. */
  async stop(): Promise<void> {
    const isPending = this.#timer !== undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (isPending) this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  async #write(): Promise<void> {
    const sources: Content['sources'][number][] = [];
    for (const { key, targets } of this.#sources ?? []) {
      if (targets.length > 0) sources.push({ key, targets });
      if (sources.length === FOUND_SOURCES_MAX) break;
    }
    const temporary = `${this.#path}.new`;
    try {
      await writeFile(temporary, `${JSON.stringify({ format: FOUND_FORMAT, sources })}\n`, { mode: 0o600 });
      await rename(temporary, this.#path);
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed)
        this.#log.warn({ err: error }, 'the found targets cannot be written to their file');
      this.#hasFailed = true;
    }
  }

  #refuse(problem: string): void {
    this.#log.warn({ file: this.#path, problem }, 'the targets that an earlier run found are not used');
  }
}
