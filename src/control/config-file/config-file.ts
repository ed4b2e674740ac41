/**
 * Serves the configuration from files instead of a database. Owns the state of the files: whether they are served,
 * since when, and their problems. Checks them every second, sooner after a hint of the operating system, and on
 * `reload`. Invalid files are reported once per change, and the previous configuration stays in force.
 *
 * A change is read when the files have not changed for a moment, since an editor may write a file in pieces, and
 * only if they did not change while they were read, since a mounted ConfigMap may be replaced meanwhile.
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { timestamp, type Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { errorLine, fileProblem, warningLine, withLineBreaks } from '../../declaration/field-lines.ts';
import { isConfigurationFile } from '../../declaration/read-files.ts';
import type { Problem } from '../../declaration/yaml-reader.ts';
import type { ConfigFileStatus } from '../../management/context.ts';
import type { Logger } from '../../observe/log.ts';
import type { ApplyConfigFile } from './apply-config-file.ts';
import { stampOf } from './file-stamp.ts';
import { FolderWatch } from './folder-watch.ts';
import { placed, readConfigFile, type FileConfig, type ReadConfigFile } from './read-config-file.ts';

const POLL_MS = 1_000;
/** Files are read when they have not changed for this long. */
const SETTLE_MS = 200;
/** A file with problems may be half written: it is reported when it has stayed unchanged for this long. */
const PROBLEM_SETTLE_MS = 500;
/** Rounds before the next poll tries again. */
const ROUNDS_MAX = 10;
/** Further problems are counted and not listed. */
const PROBLEMS_SHOWN_MAX = 50;

export interface ConfigFileDeps {
  /** Absolute; a file or a folder. */
  readonly path: string;
  readonly env: (name: string) => string | undefined;
  readonly apply: ApplyConfigFile;
  readonly configVersion: () => number;
  readonly clock: Clock;
  readonly log: Logger;
  /** For tests; milliseconds. */
  readonly pollMs?: number;
}

interface Read extends ReadConfigFile {
  readonly stamp: string;
}

export type ReloadResult = 'applied' | 'unchanged' | 'refused';

export class ConfigFile {
  readonly path: string;
  readonly #deps: ConfigFileDeps;
  readonly #reloads: Record<ReloadResult, number> = { applied: 0, unchanged: 0, refused: 0 };
  readonly #watch = new FolderWatch((name) => this.#hint(name));
  #referenced: readonly string[] = [];
  /** Stamp of the files when they were last read. */
  #stamp = '';
  /** SHA-256 of the configuration in force. */
  #digest = '';
  #loadedAt = '';
  #problem: ConfigFileStatus['problem'];
  /** The problems that were logged last. */
  #reported = '';
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  /** A check that was requested while another one was running. */
  #next: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: ConfigFileDeps) {
    this.#deps = deps;
    this.path = deps.path;
  }

  get status(): ConfigFileStatus {
    return {
      path: this.path,
      loadedAt: this.#loadedAt,
      problem: this.#problem,
    };
  }

  get reloads(): Readonly<Record<ReloadResult, number>> {
    return this.#reloads;
  }

  /**
   * The first reading, before there is traffic.
   * @returns what is wrong, one line per problem; undefined when the configuration is in force
   */
  async load(): Promise<readonly string[] | undefined> {
    const read = await this.#readAtRest();
    if (read === undefined)
      return [`${this.path}: changes all the time; expected files that do not change while they are read`];
    const problems = await this.#take(read);
    return problems === undefined ? undefined : problems.map(errorLine);
  }

  /** Applies changes from now on. */
  start(): void {
    this.#timer = setInterval(() => void this.#look(false), this.#deps.pollMs ?? POLL_MS);
  }

  /** Also waits for a check under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#watch.close();
    await this.#looking;
  }

  /** Reads the files, whether or not they seem to have changed. Never rejects. */
  async reload(): Promise<void> {
    this.#deps.log.info({ file: this.path }, 'the configuration files are read again');
    this.#reported = '';
    await this.#look(true);
  }

  /** A folder may also contain files that change constantly, such as a log: those are left to polling. */
  #hint(name: string | undefined): void {
    const isOurs =
      name === undefined ||
      name.startsWith('..') ||
      isConfigurationFile(name) ||
      [this.path, ...this.#referenced].some((path) => basename(path) === name);
    if (isOurs) void this.#look(false);
  }

  /** One check at a time; a forced check begins after one under way. */
  #look(isForced: boolean): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    if (this.#looking !== undefined) {
      if (!isForced) return this.#looking;
      this.#next ??= this.#looking.then(() => {
        this.#next = undefined;
        return this.#look(true);
      });
      return this.#next;
    }
    this.#looking = this.#lookOnce(isForced)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #lookOnce(isForced: boolean): Promise<void> {
    const { text } = await stampOf(this.path, this.#referenced);
    if (text === this.#stamp && !isForced) return;
    if (!isForced) await delay(SETTLE_MS);
    let read = await this.#readAtRest();
    if (read !== undefined && 'problems' in read.result && !isForced) {
      await delay(PROBLEM_SETTLE_MS);
      const again = await stampOf(this.path, read.referenced);
      if (again.text !== read.stamp) read = await this.#readAtRest();
    }
    if (read === undefined || this.#isStopped) return;
    const problems = await this.#take(read);
    if (problems === undefined) this.#recovered();
    else this.#refuse(problems);
  }

  /** undefined when the files keep changing; the next poll checks them again. */
  async #readAtRest(): Promise<Read | undefined> {
    let before = await stampOf(this.path, this.#referenced);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const read = readConfigFile(this.path, this.#deps.env);
      const isKnown = read.referenced.join('\n') === this.#referenced.join('\n');
      this.#referenced = read.referenced;
      const after = await stampOf(this.path, this.#referenced);
      // A stamp without all referenced files says nothing about the missing ones.
      if (isKnown && before.text === after.text) {
        this.#watch.follow(this.#isStopped ? [] : after.folders);
        return { ...read, stamp: after.text };
      }
      before = after;
      if (isKnown) await delay(SETTLE_MS);
    }
    return undefined;
  }

  /** @returns what is wrong; undefined when the configuration is in force */
  async #take({ result, stamp }: Read): Promise<readonly Problem[] | undefined> {
    if ('problems' in result) {
      this.#stamp = stamp;
      return result.problems;
    }
    const { config, locate } = result;
    const digest = digestOf(config);
    if (digest === this.#digest) {
      this.#stamp = stamp;
      this.#reloads.unchanged += 1;
      return undefined;
    }
    const applied = await this.#deps.apply(config);
    this.#stamp = stamp;
    if (typeof applied === 'object' && 'errors' in applied)
      return placed(withLineBreaks(applied.errors, config), locate);
    this.#digest = digest;
    this.#loadedAt = timestamp(this.#deps.clock.nowMs());
    this.#reloads[applied === 'unchanged' ? 'unchanged' : 'applied'] += 1;
    const { totals = {}, warnings = [] } = applied === 'unchanged' ? {} : applied;
    this.#deps.log.info(
      { file: this.path, config_version: this.#deps.configVersion(), ...totals },
      'the configuration of the files is served',
    );
    if (warnings.length > 0) {
      const lines = placed(warnings, locate).map(warningLine);
      this.#deps.log.warn(
        { file: this.path, warnings: lines },
        'the configuration files contain something that is probably not intended',
      );
    }
    return undefined;
  }

  #refuse(problems: readonly Problem[]): void {
    const shown = problems.slice(0, PROBLEMS_SHOWN_MAX);
    const lines = shown.map(errorLine);
    const since = this.#problem?.since ?? timestamp(this.#deps.clock.nowMs());
    this.#problem = { since, problems: shown, total: problems.length };
    this.#reloads.refused += 1;
    const text = lines.join('\n');
    if (text === this.#reported) return;
    this.#reported = text;
    this.#deps.log.error(
      {
        file: this.path,
        config_version: this.#deps.configVersion(),
        total: problems.length,
        problems: lines,
      },
      'the configuration files cannot be used; the previous configuration stays in force',
    );
  }

  #recovered(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#reported = '';
    this.#deps.log.info({ file: this.path }, 'the configuration files can be used again');
  }

  /** The stamp does not change, so that the next poll tries again. */
  #fail(error: unknown): void {
    const detail = `cannot be applied: ${messageOf(error)}`;
    this.#refuse([fileProblem(this.path, detail)]);
  }
}

function digestOf(config: FileConfig): string {
  return createHash('sha256').update(JSON.stringify(config)).digest('hex');
}
