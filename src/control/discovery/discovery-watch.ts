/**
 * Looks up the targets of revisions with discovery at intervals, once per source for the whole node, and tells the
 * workers what has changed. Such a change is no write of the configuration. After a failed or empty look-up, the
 * targets found last stay in use; found-set.ts says when a smaller set is believed.
 *
 * Owns the time of each source's next look-up and the result of its last one. Look-ups of one source never overlap,
 * begin at random times of their interval, and are bounded in number (lane.ts). Due look-ups beyond the bound wait; a
 * source whose look-up waits for long becomes stale. One message to the workers is under way at a time; later changes
 * are joined into the next.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { randomFraction } from '../../lib/ids.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import { sourceText } from '../../config/targets.ts';
import type { Egress } from '../../egress/egress.ts';
import type { DiscoveryHealth } from '../../management/schemas/revision-health.ts';
import type { Discovery, FoundTarget, Revision } from '../../model/resources.ts';
import type { Logger } from '../../observe/log.ts';
import type { DiscoverySettings } from '../../settings/settings-types.ts';
import type { DiscoverySource } from '../cluster/discovered-targets.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { ChangeLines } from './change-lines.ts';
import { DnsLook, newKnownNames, type KnownNames } from './dns-look.ts';
import type { FoundFile } from './found-file.ts';
import { loadTargetReader, lookAtFile, newSeenFile, type SeenFile } from './file-look.ts';
import { boundedSet, changedPlaces, DOUBTED_LOOKS_MAX, nextSet } from './found-set.ts';
import { Lane, STARTS_MAX, type InLane } from './lane.ts';
import type { Look } from './look.ts';
import { TargetPublisher, type Publish } from './target-publisher.ts';

const TICK_MS = 100;
/** A look-up is overdue after this many of its intervals, and at least this time. */
const OVERDUE_PAUSES = 3;
const OVERDUE_MS = 30_000;
const FILE_INTERVAL_MS = 1_000;
/** When the start is over. */
const LOAD_AFTER_MS = 5_000;
const FIRST_LOOKS_POLL_MS = 20;
/** The first pause after a failure; each further one is twice as long. */
const RETRY_MS = 1_000;
/** The fraction by which pauses vary. */
const JITTER = 0.1;
/** Limit of target names in one log line. */
const LOGGED_MAX = 20;

const LOOK_OUTCOMES = ['changed', 'same', 'doubted', 'failed'] as const;
type LookOutcome = (typeof LOOK_OUTCOMES)[number];
export type LookCounts = ReadonlyMap<Discovery['type'], Readonly<Record<LookOutcome, number>>>;

interface Watched extends InLane {
  readonly source: DiscoverySource;
  readonly text: string;
  readonly known: KnownNames;
  readonly file: SeenFile;
  /** Monotonic. */
  nextMs: number;
  /** The time from the last look-up to the next. */
  pauseMs: number;
  /** Failed look-ups in a row. */
  failures: number;
  /** Wall clock; undefined when there was none. */
  lookedAtMs: number | undefined;
  changedAtMs: number | undefined;
  staleSinceMs: number | undefined;
  error: string | undefined;
  notes: readonly string[];
  leftOut: number;
  doubted: DoubtedSet | undefined;
  /** Of its targets, and of everything else that is said about it: one does not use up the lines of the other. */
  readonly changeLines: ChangeLines<Line>;
  readonly stateLines: ChangeLines<Line>;
}

interface Line {
  readonly level: 'info' | 'warn';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

interface DoubtedSet {
  /** Empty after a look-up that failed: nothing can be the same again. */
  readonly targets: readonly FoundTarget[];
  /** Look-ups in a row, failed ones aside, and the time of the first one. */
  readonly looks: number;
  readonly sinceMs: number;
}

export interface DiscoveryDeps {
  readonly state: ConfigState;
  readonly clock: Clock;
  readonly log: Logger;
  readonly egress: Egress;
  readonly settings: DiscoverySettings;
  /** The targets found before a restart; undefined when they are not stored. */
  readonly file?: FoundFile | undefined;
}

export class DiscoveryWatch {
  readonly #deps: DiscoveryDeps;
  readonly #dns: DnsLook;
  readonly #watched = new Map<string, Watched>();
  /** Files have a separate lane, so that an unresponsive DNS server does not delay them. */
  readonly #dnsLane = new Lane<Watched>((watched) => this.#run(watched));
  readonly #fileLane = new Lane<Watched>((watched) => this.#run(watched));
  readonly #counts = new Map<Discovery['type'], Record<LookOutcome, number>>();
  #publisher: TargetPublisher | undefined;
  /** Targets of an earlier run, for sources that have not been looked up yet. */
  #remembered = new Map<string, readonly FoundTarget[]>();
  #timer: NodeJS.Timeout | undefined;
  #loading: NodeJS.Timeout | undefined;

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
    const { settings, clock, egress } = deps;
    const { dnsServers: servers, dnsTimeoutMs: timeoutMs, srvIntervalMs } = settings;
    const monotonicMs = (): number => clock.monotonicMs();
    this.#dns = new DnsLook({ servers, timeoutMs, srvIntervalMs, egress, monotonicMs });
  }

  /** @param publish sends targets to the workers */
  start(publish: Publish): void {
    this.#publisher = new TargetPublisher(publish, this.#deps.log);
    this.#remembered = this.#deps.file?.read() ?? this.#remembered;
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
    if (this.#deps.settings.folder === undefined) return;
    // The first file may be named after an upgrade of the package has removed what reads it.
    this.#loading ??= setTimeout(() => void loadTargetReader().catch(() => undefined), LOAD_AFTER_MS).unref();
  }

  /** Resolves when every source was looked up once, or the time has passed. */
  async firstLooks(timeoutMs: number): Promise<void> {
    const { state, clock } = this.#deps;
    const endMs = clock.monotonicMs() + timeoutMs;
    const isDue = ({ key, revisions }: DiscoverySource): boolean =>
      revisions.size > 0 && this.#watched.get(key)?.lookedAtMs === undefined;
    while (clock.monotonicMs() < endMs && [...state.discovered.sources()].some(isDue))
      await delay(FIRST_LOOKS_POLL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#loading);
    this.#publisher?.stop();
    this.#timer = undefined;
    for (const lane of [this.#dnsLane, this.#fileLane]) lane.clear();
    this.#watched.clear();
    this.#dns.stop();
    await this.#deps.file?.stop();
  }

  /** Look-ups since the start, by type of source. */
  get counts(): LookCounts {
    return this.#counts;
  }

  /** undefined when the revision has no discovery. */
  healthOf(revision: Revision): DiscoveryHealth | undefined {
    const { discovery } = revision;
    if (!discovery) return undefined;
    const source = this.#deps.state.discovered.sourceOf(revision);
    const watched = source === undefined ? undefined : this.#watched.get(source.key);
    const at = (ms: number | undefined): string | null => (ms === undefined ? null : timestamp(ms));
    return {
      source: sourceText(discovery),
      targets: source?.targets.length ?? 0,
      looked_at: at(watched?.lookedAtMs),
      changed_at: at(watched?.changedAtMs),
      stale_since: at(watched?.staleSinceMs),
      error: watched?.error ?? null,
      doubted: watched?.doubted?.targets.length || null,
      left_out: watched?.leftOut ?? 0,
      notes: [...(watched?.notes ?? [])],
    };
  }

  #tick(): void {
    const { state, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    let used = 0;
    for (const source of state.discovered.sources()) {
      if (source.revisions.size === 0) continue;
      used += 1;
      const watched = this.#watchedOf(source, nowMs);
      this.#write(watched, watched.changeLines);
      this.#write(watched, watched.stateLines);
      if (watched.nextMs > nowMs) continue;
      if (watched.phase === 'resting') this.#laneOf(watched).add(watched);
      else this.#noteOverdue(watched, nowMs);
    }
    if (used < this.#watched.size) this.#forget();
    this.#dnsLane.tick();
    this.#fileLane.tick();
  }

  /** A source that waits for its turn or for the file system counts as failed. */
  #noteOverdue(watched: Watched, nowMs: number): void {
    const { clock, log } = this.#deps;
    const limitMs = Math.max(OVERDUE_MS, OVERDUE_PAUSES * watched.pauseMs);
    if (watched.staleSinceMs !== undefined || nowMs - watched.nextMs < limitMs) return;
    watched.staleSinceMs = clock.nowMs();
    watched.error =
      watched.phase === 'waiting'
        ? `no lookup for ${Math.round(limitMs / 1_000)} s: lookups of other sources take too long`
        : `a lookup has not ended after ${Math.round(limitMs / 1_000)} s`;
    const { text: source, error } = watched;
    const targets = watched.source.targets.length;
    log.warn({ source, error, targets }, 'discovery is overdue; the targets found earlier stay in use');
  }

  #laneOf({ source }: Watched): Lane<Watched> {
    return source.discovery.type === 'file' ? this.#fileLane : this.#dnsLane;
  }

  #watchedOf(source: DiscoverySource, nowMs: number): Watched {
    let watched = this.#watched.get(source.key);
    if (watched?.source === source) return watched;
    watched = {
      source,
      text: sourceText(source.discovery),
      known: newKnownNames(),
      file: newSeenFile(),
      phase: 'resting',
      isSlow: false,
      nextMs: nowMs,
      pauseMs: 0,
      failures: 0,
      lookedAtMs: undefined,
      changedAtMs: undefined,
      staleSinceMs: undefined,
      error: undefined,
      notes: [],
      leftOut: 0,
      doubted: undefined,
      changeLines: new ChangeLines(nowMs),
      stateLines: new ChangeLines(nowMs),
    };
    this.#watched.set(source.key, watched);
    this.#remember(source);
    return watched;
  }

  /** Until the first look-up, targets of an earlier run are used as if this run had found them. */
  #remember({ key, targets }: DiscoverySource): void {
    const found = this.#remembered.get(key);
    this.#remembered.delete(key);
    if (found === undefined || targets.length > 0) return;
    this.#publisher?.add(this.#deps.state.setFound(key, found));
  }

  #forget(): void {
    const { discovered } = this.#deps.state;
    discovered.forgetUnused();
    for (const [key, watched] of this.#watched) {
      if (discovered.find(key) === watched.source) continue;
      this.#watched.delete(key);
      this.#laneOf(watched).remove(watched);
    }
  }

  async #run(watched: Watched): Promise<void> {
    const startedMs = this.#deps.clock.monotonicMs();
    const look = await this.#look(watched).catch((error: unknown): Look => ({
      kind: 'failed',
      error: String(error),
    }));
    const elapsedMs = this.#deps.clock.monotonicMs() - startedMs;
    watched.isSlow = look.kind === 'failed' || elapsedMs > this.#deps.settings.dnsTimeoutMs / 2;
    // Nothing follows when the source was removed meanwhile, or when the gateway is stopping.
    if (this.#watched.get(watched.source.key) === watched) this.#take(watched, look);
  }

  #look({ source, known, file }: Watched): Promise<Look> {
    const { discovery, port } = source;
    const { egress, settings } = this.#deps;
    switch (discovery.type) {
      case 'dns':
        return this.#dns.addressesOf(discovery, known);
      case 'dns_srv':
        return this.#dns.placesOf(discovery, known);
      case 'file':
        return lookAtFile(discovery.path, port, settings.folder, egress, file);
    }
  }

  #take(watched: Watched, look: Look): void {
    const { clock } = this.#deps;
    watched.lookedAtMs = clock.nowMs();
    const outcome = this.#outcomeOf(watched, look);
    this.#countsOf(watched)[outcome] += 1;
    watched.pauseMs = this.#pauseMs(watched, look, outcome);
    watched.nextMs = clock.monotonicMs() + watched.pauseMs;
  }

  #outcomeOf(watched: Watched, look: Look): LookOutcome {
    switch (look.kind) {
      case 'found':
        return this.#found(watched, look);
      case 'failed':
        return this.#failed(watched, look.error);
      case 'unsettled':
        return 'same';
    }
  }

  #failed(watched: Watched, error: string): LookOutcome {
    const { clock } = this.#deps;
    watched.failures += 1;
    const isNew = watched.staleSinceMs === undefined || watched.error !== error;
    watched.staleSinceMs ??= clock.nowMs();
    watched.error = error;
    // A source that fails every other time must not be doubted for ever.
    const { doubted, failures } = watched;
    watched.doubted = doubted && failures < DOUBTED_LOOKS_MAX ? { ...doubted, targets: [] } : undefined;
    const targets = watched.source.targets.length;
    if (isNew) {
      const left = targets === 0 ? 'no targets were found before' : 'the targets found earlier stay in use';
      this.#warn(watched, { error, targets }, `discovery fails; ${left}`);
    }
    return 'failed';
  }

  #found(watched: Watched, look: Look & { kind: 'found' }): LookOutcome {
    if (watched.staleSinceMs !== undefined)
      this.#tell(watched, watched.stateLines, {
        level: 'info',
        fields: {},
        message: 'discovery works again',
      });
    watched.failures = 0;
    watched.staleSinceMs = undefined;
    watched.error = undefined;
    const { targets, leftOut } = boundedSet(look.targets);
    this.#note(watched, look.notes, leftOut + (look.leftOut ?? 0));
    return this.#compare(watched, targets);
  }

  #compare(watched: Watched, targets: readonly FoundTarget[]): LookOutcome {
    const inUse = watched.source.targets;
    const nowMs = this.#deps.clock.monotonicMs();
    const { doubted } = watched;
    const { looks = 0, sinceMs = nowMs } = doubted ?? {};
    const next = nextSet(inUse, doubted && { ...doubted, forMs: nowMs - sinceMs }, targets);
    const fields = { targets: targets.length, before: inUse.length };
    watched.doubted =
      next.kind === 'doubted' ? { targets: next.targets, looks: looks + 1, sinceMs } : undefined;
    if (next.kind === 'same') return 'same';
    if (next.kind === 'doubted') {
      if (doubted === undefined)
        this.#warn(
          watched,
          fields,
          'discovery finds less than half of the targets; they are looked up again',
        );
      return 'doubted';
    }
    this.#use(watched, next.targets);
    return 'changed';
  }

  #use(watched: Watched, targets: readonly FoundTarget[]): void {
    const { state, clock } = this.#deps;
    const { source } = watched;
    const { added, removed } = changedPlaces(source.targets, targets);
    watched.changedAtMs = clock.nowMs();
    this.#publisher?.add(state.setFound(source.key, targets));
    this.#deps.file?.changed(state.discovered.sources());
    const some = (places: readonly string[]): readonly string[] => places.slice(0, LOGGED_MAX);
    const fields = { targets: targets.length, added: some(added), removed: some(removed) };
    const message = 'discovered targets have changed';
    this.#tell(watched, watched.changeLines, { level: 'info', fields, message });
  }

  #warn(watched: Watched, fields: Line['fields'], message: string): void {
    this.#tell(watched, watched.stateLines, { level: 'warn', fields, message });
  }

  #tell(watched: Watched, lines: ChangeLines<Line>, line: Line): void {
    lines.add(line);
    this.#write(watched, lines);
  }

  /** Writes what is not written yet, if its source has not filled the log. */
  #write({ text: source }: Watched, lines: ChangeLines<Line>): void {
    const { clock, log } = this.#deps;
    const taken = lines.take(clock.monotonicMs());
    if (taken === undefined) return;
    const { line, changes } = taken;
    const several = changes > 1 ? { changes } : {};
    log[line.level]({ source, ...line.fields, ...several }, line.message);
  }

  #note(watched: Watched, notes: readonly string[], leftOut: number): void {
    if (leftOut > 0 && leftOut !== watched.leftOut)
      this.#warn(watched, { left_out: leftOut }, 'discovery finds more targets than a revision can have');
    if (notes.length > 0 && notes.join() !== watched.notes.join())
      this.#warn(watched, { notes }, 'discovery finds targets that are not used');
    watched.notes = notes;
    watched.leftOut = leftOut;
  }

  #pauseMs({ source, failures }: Watched, look: Look, outcome: LookOutcome): number {
    const { minIntervalMs, maxIntervalMs, srvIntervalMs } = this.#deps.settings;
    const varied = (ms: number): number => ms * (1 - JITTER * randomFraction());
    const isFile = source.discovery.type === 'file';
    const within = (ms: number): number => Math.max(minIntervalMs, Math.min(ms, maxIntervalMs));
    if (outcome === 'failed' && !isFile) return varied(within(RETRY_MS * 2 ** Math.min(failures - 1, 20)));
    if (isFile) return varied(Math.min(againOf(look) ?? Infinity, this.#fileIntervalMs()));
    if (outcome === 'doubted') return varied(within(RETRY_MS));
    return varied(within(againOf(look) ?? srvIntervalMs));
  }

  /** With many sources, each file is checked less often, because checking costs time. */
  #fileIntervalMs(): number {
    return Math.max(FILE_INTERVAL_MS, this.#watched.size * (TICK_MS / STARTS_MAX) * 2);
  }

  #countsOf({ source }: Watched): Record<LookOutcome, number> {
    const { type } = source.discovery;
    let counts = this.#counts.get(type);
    if (counts === undefined) {
      counts = { changed: 0, same: 0, doubted: 0, failed: 0 };
      this.#counts.set(type, counts);
    }
    return counts;
  }
}

function againOf(look: Look): number | undefined {
  return look.kind === 'failed' ? undefined : look.againMs;
}
