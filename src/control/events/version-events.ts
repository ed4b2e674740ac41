/**
 * Events of versions that are being retired: deprecated, close to their sunset, and called after it. Checks the main
 * thread's copy of the configuration, and the reports of calls of deprecated versions that workers send anyway.
 */
import { utcDate } from '../../model/key-usage.ts';
import type { App, Version } from '../../model/resources.ts';
import { DAY_MS, reachedThreshold, wholeDays } from './thresholds.ts';
import type { LastingEvent, ToldOnce } from './told-once.ts';

/** An older deprecation causes no event, even if its event is no longer stored. */
const NEWS_MS = 7 * DAY_MS;
/** Limit of the events of one check; further ones follow at the next checks. */
const EVENTS_MAX = 500;

export interface PlacedVersion {
  readonly app: App;
  readonly version: Version;
}

export class VersionEvents {
  readonly #told: ToldOnce;
  readonly #sunsetDays: readonly number[];

  /** @param sunsetDays days before a sunset at which an event is recorded */
  constructor(told: ToldOnce, sunsetDays: readonly number[]) {
    this.#told = told;
    this.#sunsetDays = sunsetDays;
  }

  look(versions: Iterable<PlacedVersion>, nowMs: number): void {
    let count = 0;
    for (const placed of versions) {
      if (placed.version.status !== 'deprecated') continue;
      for (const event of [deprecated(placed, nowMs), this.#sunsetNear(placed, nowMs)])
        if (event !== undefined && this.#told.record(event)) count += 1;
      if (count >= EVENTS_MAX) return;
    }
  }

  /** A deprecated version was called. */
  called(placed: PlacedVersion, nowMs: number): void {
    const { app, version } = placed;
    const { sunset_at: sunset, id } = version;
    if (sunset === null || Date.parse(sunset) > nowMs) return;
    this.#told.record({
      type: 'version.called_after_sunset',
      dedupe_key: `version.called_after_sunset:${id}:${utcDate(nowMs)}`,
      ...about(placed),
      data: { app: app.slug, version: version.version, sunset_at: sunset },
    });
  }

  #sunsetNear(placed: PlacedVersion, nowMs: number): LastingEvent | undefined {
    const { app, version } = placed;
    const { sunset_at: sunset, id } = version;
    if (sunset === null) return undefined;
    const endMs = Date.parse(sunset);
    const days = reachedThreshold(endMs, nowMs, this.#sunsetDays);
    if (days === undefined) return undefined;
    const data = {
      app: app.slug,
      version: version.version,
      sunset_at: sunset,
      days_left: wholeDays(endMs - nowMs),
    };
    const dedupe_key = `version.sunset_near:${id}:${sunset}:${days}`;
    return { type: 'version.sunset_near', dedupe_key, ...about(placed), data };
  }
}

function deprecated(placed: PlacedVersion, nowMs: number): LastingEvent | undefined {
  const { app, version } = placed;
  const { deprecated_at: since, sunset_at, id } = version;
  if (since === null) return undefined;
  const agoMs = nowMs - Date.parse(since);
  if (agoMs < 0 || agoMs > NEWS_MS) return undefined;
  const data = { app: app.slug, version: version.version, sunset_at };
  return {
    type: 'version.deprecated',
    dedupe_key: `version.deprecated:${id}:${since}`,
    ...about(placed),
    data,
  };
}

function about({ app, version }: PlacedVersion) {
  const name = `${app.slug} ${version.version}`;
  return { app_id: app.id, subject: { kind: 'version', id: version.id, name } };
}
