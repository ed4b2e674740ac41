/**
 * Keeps the snapshot file up to date, off the request path. Changes are appended at most once a second. At a start, and
 * when the changes have grown large, the file is rewritten, in small parts with pauses between them. Everything is read
 * from the main thread's copy of the configuration, not from the database.
 *
 * A stop appends the pending changes. A rewrite in progress gets one more second and is then abandoned: a stop must not
 * wait for a million keys. A failed write is retried; the last good file stays.
 */
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/clock.ts';
import { systemReason } from '../../lib/error-message.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { Logger } from '../../observe/log.ts';
import type { MaybeSealing } from '../../storage/secrets/sealed-config.ts';
import type { Sealing } from '../../storage/sql/policy-secrets.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { removeLeftovers, SnapshotFile } from './snapshot-file.ts';
import type { Frame } from './snapshot-log.ts';
import { allParts, ChangedIds, changedParts } from './snapshot-parts.ts';

export interface SnapshotFileWriterDeps {
  readonly path: string;
  readonly state: ConfigState;
  /** Encrypts the secrets of policies with the key of the database. */
  readonly sealing: () => MaybeSealing;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 1_000;
/** Pause after an append, as a multiple of its duration. */
const REST_FACTOR = 49;
const RETRY_MS = 30_000;
/** Pause between two parts of a rewrite; each part takes a few milliseconds. */
const PART_REST_MS = 20;
/** Limit for a rewrite that is in progress when the gateway stops. */
const STOP_MS = 1_000;
/** The file is rewritten when its changes exceed half of it, but not before they reach this size. */
const CHANGE_BYTES_MIN = 1_048_576;
/** A takeover, or an operator, may replace it once. */
const REPLACED_TO_WARN = 2;
/** With more changed records the file is rewritten. */
const CHANGED_MAX = 10_000;

export interface SnapshotFailure {
  /** In words, without the path. */
  readonly reason: string;
  /** Unix milliseconds of the first failure in a row. */
  readonly sinceMs: number;
}

/** The configuration was replaced during a rewrite. */
class Outdated extends Error {}

export class SnapshotFileWriter {
  readonly #deps: SnapshotFileWriterDeps;
  #file: SnapshotFile | undefined;
  /** The file has to be rewritten, whatever has changed. */
  #all = false;
  #changed = new ChangedIds();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #restMs = INTERVAL_MS;
  /** Ends the pause between two parts. */
  #wake: (() => void) | undefined;
  #failure: SnapshotFailure | undefined;
  /** How often another file was found in place of this one's. */
  #replaced = 0;
  /** On the monotonic clock; undefined while the gateway runs. */
  #stopDeadlineMs: number | undefined;

  constructor(deps: SnapshotFileWriterDeps) {
    this.#deps = deps;
    try {
      removeLeftovers(deps.path);
    } catch (error) {
      deps.log.warn({ err: error, path: deps.path }, 'cannot read the folder of the snapshot file');
    }
  }

  /** Why the file lacks the latest configuration; undefined when the last write succeeded. */
  get failure(): SnapshotFailure | undefined {
    return this.#failure;
  }

  /** Records a change that is or will be applied to the state; undefined: the whole state changed. */
  changed(change?: ConfigChange): void {
    if (change === undefined || change.reset) this.#all = true;
    else this.#note(change);
    this.#schedule();
  }

  /** Writes the pending changes; nothing is written afterwards. */
  async stop(): Promise<void> {
    this.#stopDeadlineMs = this.#deps.clock.monotonicMs() + STOP_MS;
    clearTimeout(this.#timer);
    this.#wake?.();
    await this.#working;
    if (this.#isStale) await this.#work();
    // The rewrite took too long: the changes can still be appended.
    if (this.#isStale && !this.#all && this.#file?.isInPlace === true) await this.#append(this.#file);
    await this.#file?.close();
    this.#file = undefined;
  }

  /** A rewrite needs no list of changes, so a disk that cannot be written costs no memory. */
  #note(change: ConfigChange): void {
    if (this.#all) return;
    this.#changed.add(change);
    if (this.#changed.size <= CHANGED_MAX) return;
    this.#all = true;
    this.#changed = new ChangedIds();
  }

  get #isStale(): boolean {
    return this.#all || this.#changed.size > 0;
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#working !== undefined) return;
    if (this.#stopDeadlineMs !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#work().finally(() => {
        this.#working = undefined;
        if (this.#isStale) this.#schedule();
      });
    }, this.#restMs);
    this.#timer.unref();
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    const file = this.#file;
    const isShort = file !== undefined && file.changeBytes <= Math.max(CHANGE_BYTES_MIN, file.bytes / 2);
    if (file?.isInPlace === true && isShort && !this.#all) return this.#append(file);
    const { path, log } = this.#deps;
    if (file?.isReplaced === true) this.#noteReplaced();
    try {
      while (!(await this.#writeAnew()));
      this.#restMs = INTERVAL_MS;
      this.#failure = undefined;
    } catch (error) {
      this.#restMs = RETRY_MS;
      this.#noteFailure(error);
      log.warn({ err: error, path }, 'the snapshot file could not be written; the old one stays');
    }
  }

  /** Never rejects. */
  async #append(file: SnapshotFile): Promise<void> {
    const { path, log, clock } = this.#deps;
    const changed = this.#takeChanged();
    try {
      const startedMs = clock.monotonicMs();
      const configVersion = await this.#appendChanged(file, changed);
      const tookMs = clock.monotonicMs() - startedMs;
      await file.sync();
      this.#failure = undefined;
      this.#restMs = Math.max(INTERVAL_MS, tookMs * REST_FACTOR);
      log.debug(
        { path, config_version: configVersion, ms: Math.round(tookMs), bytes: file.bytes },
        'snapshot file written',
      );
    } catch (error) {
      // The file ends with an incomplete group: the next write is a rewrite.
      this.#all = true;
      this.#file = undefined;
      this.#restMs = RETRY_MS;
      this.#noteFailure(error);
      await file.close();
      log.warn({ err: error, path }, 'the snapshot file could not be written; it lacks the latest changes');
    }
  }

  /** Gateways in containers do not see each other's process, so a start does not notice that they share a volume. */
  #noteReplaced(): void {
    this.#replaced += 1;
    if (this.#replaced !== REPLACED_TO_WARN) return;
    this.#deps.log.warn(
      { path: this.#deps.path },
      'another gateway writes this snapshot file, too, so each change rewrites all of it; ' +
        'expected GATEWAY_SNAPSHOT_FILE to name a file of its own for each gateway',
    );
  }

  #noteFailure(error: unknown): void {
    const sinceMs = this.#failure?.sinceMs ?? this.#deps.clock.nowMs();
    this.#failure = { reason: systemReason(error), sinceMs };
  }

  /** False when the configuration was replaced meanwhile. Rejects when the file could not be written. */
  async #writeAnew(): Promise<boolean> {
    const { path, state, clock, log } = this.#deps;
    const startedMs = clock.monotonicMs();
    const [changed, all] = [this.#takeChanged(), this.#all];
    this.#all = false;
    let file: SnapshotFile | undefined;
    try {
      file = await SnapshotFile.create(path);
      for (const part of allParts(state, this.#sealing())) await this.#appendAndRest(file, part);
      await file.endGroup(state.configVersion, timestamp(clock.nowMs()));
      const configVersion = await this.#appendChanged(file, this.#takeChanged());
      await file.putInPlace();
      const ms = Math.round(clock.monotonicMs() - startedMs);
      log.debug({ path, config_version: configVersion, ms, bytes: file.bytes }, 'snapshot file written');
    } catch (error) {
      await file?.close();
      this.#all ||= all;
      if (!this.#all) this.#changed.addAll(changed);
      if (error instanceof Outdated) return false;
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    return true;
  }

  /** @returns the config version that the file has with it */
  async #appendChanged(file: SnapshotFile, changed: ChangedIds): Promise<number> {
    const { state, clock } = this.#deps;
    const { configVersion } = state;
    if (changed.size === 0) return configVersion;
    for (const part of changedParts(state, this.#sealing(), changed)) await file.append(part);
    await file.endGroup(configVersion, timestamp(clock.nowMs()));
    return configVersion;
  }

  async #appendAndRest(file: SnapshotFile, part: Frame): Promise<void> {
    await file.append(part);
    const deadlineMs = this.#stopDeadlineMs;
    if (deadlineMs === undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, PART_REST_MS);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    } else if (this.#deps.clock.monotonicMs() > deadlineMs) {
      throw new Error(`the gateway is stopping; only ${file.bytes} bytes were written within ${STOP_MS} ms`);
    }
    if (this.#all) throw new Outdated();
  }

  #takeChanged(): ChangedIds {
    const changed = this.#changed;
    this.#changed = new ChangedIds();
    return changed;
  }

  #sealing(): Sealing {
    const { box, places } = this.#deps.sealing();
    if (box === undefined) throw new Error('there is no key to seal the secrets of policies with');
    return { box, places };
  }
}
