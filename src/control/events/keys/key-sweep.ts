/**
 * Looks for API keys that expire soon, that have expired, and that are unused, and records events. A sweep asks the
 * database only for keys that have reached a threshold since the last sweep of any gateway, so that its cost depends on
 * the number of events. It records a bounded number, which apps share: keys of one app leave room for those of others,
 * even if very many expire at once. The last event of an app contains the number of keys that were left out.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { timestamp, type Clock } from '../../../lib/clock.ts';
import type { EventLog } from '../../../model/events/event-log.ts';
import type { Logger } from '../../../observe/log.ts';
import { StorageUnavailable } from '../../../storage/storage-errors.ts';
import type { KeySweepStore, SweptKey } from '../../../storage/key-sweep-store.ts';
import { FairShare } from './fair-share.ts';
import { crossedSpans, DAY_MS, wholeDays, type Span } from '../thresholds.ts';

const EXPIRY_MS = 60_000;
const UNUSED_MS = DAY_MS;
/** How often the gateway checks whether a sweep for unused keys is due. */
const UNUSED_LOOK_MS = 600_000;
const FIRST_MS = 1_000;
/** Limit of the events of one type in one sweep. */
export const KEYS_TOLD_MAX = 1_000;
/** The number of keys that the database checks at once, and the pause afterwards as a multiple of its time. */
const KEYS_PER_LOOK = 2_000;
const REST_FACTOR = 4;
const REST_MS_MIN = 5;
/** A last sweep further in the future was stored by a wrong clock, and is ignored. */
const AHEAD_MS_MAX = 3_600_000;
/** Sorts before all times. */
const NO_TIME = '';

export interface KeySweepDeps {
  readonly store: () => KeySweepStore;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly log: Logger;
  /** Slug of an app; undefined when it is gone. */
  readonly slugOf: (appId: string) => string | undefined;
  /** Days before the expiry of a key at which an event is recorded. */
  readonly expiryDays: readonly number[];
  /** 0: no events. */
  readonly unusedDays: number;
}

export class KeySweep {
  readonly #deps: KeySweepDeps;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #unusedLookedMs = -Infinity;
  #stopped = false;

  constructor(deps: KeySweepDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#schedule(FIRST_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.sweep().then(() => {
        if (!this.#stopped) this.#schedule(EXPIRY_MS);
      });
    }, ms).unref();
  }

  /** Never rejects. */
  async sweep(): Promise<void> {
    const { clock, log, unusedDays } = this.#deps;
    try {
      await this.#sweepExpiry();
      if (unusedDays === 0 || clock.monotonicMs() - this.#unusedLookedMs < UNUSED_LOOK_MS) return;
      await this.#sweepUnused();
      this.#unusedLookedMs = clock.monotonicMs();
    } catch (error) {
      // The outage of the database is reported elsewhere; the next sweep continues here.
      const level = error instanceof StorageUnavailable ? 'debug' : 'warn';
      log[level]({ err: error }, 'cannot look for API keys that expire soon');
    }
  }

  async #sweepExpiry(): Promise<void> {
    const { clock, expiryDays } = this.#deps;
    const nowMs = clock.nowMs();
    const sinceMs = await this.#sweptUntilMs('expiry', nowMs);
    // Another gateway has just done a sweep.
    if (sinceMs !== undefined && nowMs - sinceMs < EXPIRY_MS / 2) return;
    const spans = crossedSpans(sinceMs, nowMs, expiryDays);
    const [over, ahead] = [true, false].map((isOver) =>
      spans.filter(({ upTo }) => (upTo === nowMs) === isOver),
    );
    await this.#tellEnds(over ?? [], nowMs);
    await this.#tellEnds(ahead ?? [], nowMs);
    await this.#setSwept('expiry', nowMs);
  }

  async #sweptUntilMs(sweep: string, nowMs: number): Promise<number | undefined> {
    const until = await this.#deps.store().sweptUntil(sweep);
    const untilMs = until === undefined ? Infinity : Date.parse(until);
    return untilMs > nowMs + AHEAD_MS_MAX ? undefined : untilMs;
  }

  #setSwept(sweep: string, nowMs: number): Promise<void> {
    return this.#deps.store().setSweptUntil(sweep, timestamp(nowMs), timestamp(nowMs + AHEAD_MS_MAX));
  }

  async #tellEnds(spans: readonly Span[], nowMs: number): Promise<void> {
    const share = new FairShare<{ readonly key: SweptKey; readonly span: Span }>(KEYS_TOLD_MAX);
    for (const span of spans) {
      const times = { after: timestamp(span.after), upTo: timestamp(span.upTo) };
      const { keys, leftOut } = await this.#deps.store().expiring(times, KEYS_TOLD_MAX);
      for (const key of keys) share.add(key.app_id, { key, span });
      for (const [appId, count] of leftOut) share.leaveOut(appId, count);
    }
    for (const { item, leftOut } of share.items()) this.#tellEnd(item.key, nowMs, leftOut, item.span);
  }

  #tellEnd(key: SweptKey, nowMs: number, leftOut: number, { upTo }: Span): void {
    const app = this.#deps.slugOf(key.app_id);
    if (app === undefined || key.expires_at === null) return;
    const { expires_at } = key;
    const endMs = Date.parse(expires_at);
    const further = leftOut === 0 ? {} : { left_out: leftOut };
    if (endMs <= nowMs) {
      this.#deps.events.record({
        type: 'key.expired',
        dedupe_key: `key.expired:${key.id}:${expires_at}`,
        ...about(key),
        data: { app, expires_at, ...further },
      });
      return;
    }
    this.#deps.events.record({
      type: 'key.expiring',
      dedupe_key: `key.expiring:${key.id}:${expires_at}:${wholeDays(upTo - nowMs)}`,
      ...about(key),
      data: { app, expires_at, days_left: wholeDays(endMs - nowMs), ...further },
    });
  }

  async #sweepUnused(): Promise<void> {
    const { store, clock, unusedDays } = this.#deps;
    const nowMs = clock.nowMs();
    const sinceMs = await this.#sweptUntilMs('unused', nowMs);
    if (sinceMs !== undefined && nowMs - sinceMs < UNUSED_MS) return;
    const limitMs = nowMs - unusedDays * DAY_MS;
    const span = {
      after: sinceMs === undefined ? NO_TIME : timestamp(sinceMs - unusedDays * DAY_MS),
      upTo: timestamp(limitMs),
    };
    const share = new FairShare<SweptKey>(KEYS_TOLD_MAX);
    for (let afterId = ''; !this.#stopped;) {
      const startMs = clock.monotonicMs();
      const question = { ...span, afterId, beforeId: idBefore(limitMs), looked: KEYS_PER_LOOK };
      const { keys, lastId } = await store().unused(question);
      for (const key of keys) {
        // An expired key is unused on purpose.
        if (key.expires_at !== null && Date.parse(key.expires_at) <= nowMs) continue;
        share.add(key.app_id, key);
      }
      if (lastId === undefined) break;
      afterId = lastId;
      await delay(Math.max(REST_MS_MIN, (clock.monotonicMs() - startMs) * REST_FACTOR));
    }
    if (this.#stopped) return;
    for (const { item, leftOut } of share.items()) this.#tellUnused(item, nowMs, leftOut);
    await this.#setSwept('unused', nowMs);
  }

  #tellUnused(key: SweptKey, nowMs: number, leftOut: number): void {
    const app = this.#deps.slugOf(key.app_id);
    if (app === undefined) return;
    const { last_used_at, created_at } = key;
    this.#deps.events.record({
      type: 'key.unused',
      dedupe_key: `key.unused:${key.id}:${last_used_at ?? ''}`,
      ...about(key),
      data: {
        app,
        last_used_at,
        days: wholeDays(nowMs - Date.parse(last_used_at ?? created_at)),
        ...(leftOut > 0 && { left_out: leftOut }),
      },
    });
  }
}

function about({ id, app_id, name }: SweptKey) {
  return { app_id, subject: { kind: 'token', id, name } };
}

const UUID_TIME_DIGITS = 12;

/** The smallest id of a record created at that time, without its random end; ids are UUIDv7. */
function idBefore(ms: number): string {
  const digits = Math.max(0, ms).toString(16).padStart(UUID_TIME_DIGITS, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}
