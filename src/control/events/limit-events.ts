/**
 * Events of API keys that reach a limit, from the notes of workers (limit-notes.ts): one for each key, limit and
 * period, within a budget for each app. Callers without a key cause no events: there may be any number of them.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { RecentMap } from './recent-map.ts';
import type { App, StoredApiKey } from '../../model/resources.ts';
import { periodOf, type LimitReached } from './limit-notes.ts';
import type { PacedEvents } from './paced-events.ts';

export interface KeyLookup {
  findKey(id: string): Pick<StoredApiKey, 'id' | 'name' | 'app_id'> | undefined;
  findApp(id: string): App | undefined;
}

/** Limit of the remembered notes, which make one event of the notes of all workers. */
const TOLD_MAX = 20_000;

export class LimitEvents {
  readonly #paced: PacedEvents;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #lookup: KeyLookup;
  readonly #told = new RecentMap<string, true>(TOLD_MAX);

  constructor(paced: PacedEvents, clock: Pick<Clock, 'nowMs'>, lookup: KeyLookup) {
    this.#paced = paced;
    this.#clock = clock;
    this.#lookup = lookup;
  }

  report({ keyId, limitId, limit, windowSeconds }: LimitReached): void {
    const key = this.#lookup.findKey(keyId);
    const app = key && this.#lookup.findApp(key.app_id);
    if (app === undefined || key === undefined) return;
    const period = periodOf(windowSeconds === null ? null : windowSeconds * 1000);
    const dedupeKey = `limit.reached:${keyId}:${digestOf(limitId)}:${Math.floor(this.#clock.nowMs() / period)}`;
    if (this.#told.get(dedupeKey) === true) return;
    this.#told.set(dedupeKey, true);
    this.#paced.record(`limit ${app.id}`, {
      type: 'limit.reached',
      dedupe_key: dedupeKey,
      app_id: app.id,
      subject: { kind: 'token', id: keyId, name: key.name },
      data: { app: app.slug, limit, window_seconds: windowSeconds },
    });
  }
}

/** A digest for the key that makes the event unique: a limit's id can contain the name of a header field. */
function digestOf(limitId: string): string {
  return createHash('sha256').update(limitId).digest('hex').slice(0, 16);
}
