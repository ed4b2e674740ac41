/**
 * Events of API keys that reach a limit, from what workers note (limit-notes.ts): one for each key, limit and period,
 * and for each app no more than its budget. Callers without a key make no events: there may be any number of them.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { App, StoredApiKey } from '../../model/resources.ts';
import { periodOf, type LimitReached } from './limit-notes.ts';
import type { PacedEvents } from './paced-events.ts';

export interface KeyLookup {
  findKey(id: string): Pick<StoredApiKey, 'id' | 'name' | 'app_id'> | undefined;
  findApp(id: string): App | undefined;
}

/** Of the workers of this gateway. */
const TOLD_MAX = 10_000;

export class LimitEvents {
  readonly #paced: PacedEvents;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #lookup: KeyLookup;
  readonly #told = new Set<string>();

  constructor(paced: PacedEvents, clock: Pick<Clock, 'nowMs'>, lookup: KeyLookup) {
    this.#paced = paced;
    this.#clock = clock;
    this.#lookup = lookup;
  }

  report({ keyId, limit, windowSeconds }: LimitReached): void {
    const key = this.#lookup.findKey(keyId);
    const app = key && this.#lookup.findApp(key.app_id);
    if (app === undefined || key === undefined) return;
    const period = periodOf(windowSeconds === null ? null : windowSeconds * 1000);
    const dedupeKey = `limit.reached:${keyId}:${digestOf(limit)}:${Math.floor(this.#clock.nowMs() / period)}`;
    if (this.#told.has(dedupeKey)) return;
    if (this.#told.size >= TOLD_MAX) this.#told.clear();
    this.#told.add(dedupeKey);
    this.#paced.record(`limit ${app.id}`, {
      type: 'limit.reached',
      dedupe_key: dedupeKey,
      app_id: app.id,
      subject: { kind: 'token', id: keyId, name: key.name },
      data: { app: app.slug, limit, window_seconds: windowSeconds },
    });
  }
}

/** Names a limit in the key that makes its event unique: the text of one can be as long as a path. */
function digestOf(limit: string): string {
  return createHash('sha256').update(limit).digest('hex').slice(0, 16);
}
