/**
 * Events of backends: circuit breakers that open and close, and targets that go out of service and return. The health
 * registry and the watch of targets notice them in the reports of the workers; requests pay nothing. Each gateway has
 * its own breakers and targets: if several gateways notice the same change within some seconds, only the first records
 * an event. Owns the set of breakers that were reported as open.
 */
import type { Clock } from '../../lib/clock.ts';
import type { App, Revision, Version } from '../../model/resources.ts';
import type { MoveNote } from '../health/health-reporter.ts';
import type { PacedEvents } from './paced-events.ts';
import { RecentMap } from './recent-map.ts';

/** A change of a backend that several gateways notice within this time is one event. */
const SAME_MS = 5_000;
/**
 * Maximum number of targets of a revision that have a separate hourly budget; the others share one, because DNS can
 * name any number.
 */
export const OWN_TARGETS_MAX = 100;
const HOUR_MS = 3_600_000;
const REVISIONS_MAX = 10_000;

export interface Placed {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
}

export interface TargetChange {
  readonly revisionId: string;
  /** `host:port`. */
  readonly target: string;
  /** Why it is out of service; undefined when it is back. */
  readonly reason: string | undefined;
}

interface OwnTargets {
  readonly sinceMs: number;
  readonly targets: Set<string>;
}

export interface HealthEventsDeps {
  readonly paced: PacedEvents;
  readonly clock: Clock;
  readonly placeOf: (revisionId: string) => Placed | undefined;
  readonly isOpen: (revisionId: string) => boolean;
}

export class HealthEvents {
  readonly #deps: HealthEventsDeps;
  readonly #open = new Set<string>();
  readonly #ownTargets = new RecentMap<string, OwnTargets>(REVISIONS_MAX);
  /** Number of times that each change was noticed here within the current period. */
  readonly #noticed = new Map<string, number>();
  #moment = 0;

  constructor(deps: HealthEventsDeps) {
    this.#deps = deps;
  }

  breakerMoved({ revisionId, move: { from, to }, detail }: MoveNote): void {
    if (to === 'closed') this.#closed(revisionId);
    // A failed trial goes from half open back to open: nothing has changed for clients.
    if (to !== 'open' || from !== 'closed') return;
    const place = this.#deps.placeOf(revisionId);
    if (place === undefined) return;
    this.#open.add(revisionId);
    const { names, about } = textsOf(place);
    const type = 'breaker.opened';
    const data = { ...names, reason: detail };
    this.#deps.paced.record(`breaker ${revisionId}`, {
      type,
      dedupe_key: this.#key(type, revisionId),
      ...about,
      data,
    });
  }

  targetChanged({ revisionId, target, reason }: TargetChange): void {
    const place = this.#deps.placeOf(revisionId);
    if (place === undefined) return;
    const { names, about } = textsOf(place);
    const { paced } = this.#deps;
    const subject = `${revisionId}:${target}`;
    const pace = this.#hasOwnPace(revisionId, target) ? `target ${subject}` : `targets ${revisionId}`;
    if (reason === undefined) {
      const type = 'target.returned';
      paced.record(pace, {
        type,
        dedupe_key: this.#key(type, subject),
        ...about,
        data: { ...names, target },
      });
    } else {
      const type = 'target.ejected';
      const data = { ...names, target, reason };
      paced.record(pace, { type, dedupe_key: this.#key(type, subject), ...about, data });
    }
  }

  #hasOwnPace(revisionId: string, target: string): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    let own = this.#ownTargets.get(revisionId);
    if (own === undefined || nowMs - own.sinceMs > HOUR_MS) own = { sinceMs: nowMs, targets: new Set() };
    this.#ownTargets.set(revisionId, own);
    if (own.targets.size < OWN_TARGETS_MAX) own.targets.add(target);
    return own.targets.has(target);
  }

  /** Reports breakers as closed whose backend was removed. Call it every few seconds. */
  tick(): void {
    for (const revisionId of this.#open) if (!this.#deps.isOpen(revisionId)) this.#closed(revisionId);
  }

  #closed(revisionId: string): void {
    if (!this.#open.delete(revisionId)) return;
    const place = this.#deps.placeOf(revisionId);
    if (place === undefined) return;
    const { names, about } = textsOf(place);
    const type = 'breaker.closed';
    const dedupe_key = this.#key(type, revisionId);
    this.#deps.paced.record(`breaker ${revisionId}`, { type, dedupe_key, ...about, data: names });
  }

  /** A change that this gateway notices twice is two events. */
  #key(type: string, subject: string): string {
    const moment = Math.floor(this.#deps.clock.nowMs() / SAME_MS);
    if (moment !== this.#moment) this.#noticed.clear();
    this.#moment = moment;
    const key = `${type}:${subject}:${moment}`;
    const count = (this.#noticed.get(key) ?? 0) + 1;
    this.#noticed.set(key, count);
    return count === 1 ? key : `${key}:${count}`;
  }
}

function textsOf({ app, version, revision }: Placed) {
  const names = { app: app.slug, version: version.version, revision: revision.revision };
  const name = `${app.slug} ${version.version} ${revision.revision}`;
  const about = { app_id: app.id, subject: { kind: 'revision', id: revision.id, name } };
  return { names, about };
}
