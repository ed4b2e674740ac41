/**
 * Counts a worker's traffic for the gateway's own time series, and sends the counts to the main thread at the end of
 * every second of the wall clock, if anything has moved. A worker that dies loses its last second.
 */
import type { Clock } from '../../lib/clock.ts';
import { StatsCounter, statsTarget, type StatsTarget } from '../../observe/stats/stats-counter.ts';
import type { StatsReport } from '../../observe/stats/stats-report.ts';
import { STATS_COLUMNS } from '../../policy/error-table.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import type { Route, Version } from '../../proxy/interfaces/route.ts';

export interface StatsReporterDeps {
  readonly clock: Clock;
  readonly send: (report: StatsReport) => void;
  /** Open connections of clients, and requests under way, of this worker. */
  readonly gauges: () => readonly [connections: number, inFlight: number];
}

const SECOND_MS = 1_000;
/** A timer may fire a little early. */
const MARGIN_MS = 5;

export class StatsReporter {
  readonly #deps: StatsReporterDeps;
  readonly #counter = new StatsCounter(STATS_COLUMNS);
  readonly #apps = new WeakMap<Version['app'], StatsTarget>();
  readonly #versions = new WeakMap<Version, StatsTarget>();
  #timer: NodeJS.Timeout;

  constructor(deps: StatsReporterDeps) {
    this.#deps = deps;
    this.#timer = this.#waitForSecond();
  }

  /** Where the exchanges of a route are counted. Create it once per route and keep it. */
  targetOf({ version, method, template }: Route): StatsTarget {
    const { app } = version;
    const ids = { appId: app.id, app: app.slug, versionId: version.id, version: version.label };
    const place = { kind: 'route' as const, ...ids, route: `${method} ${template}` };
    return statsTarget(place, this.#versionTarget(version));
  }

  /** @param target target of its route; undefined without a route */
  exchangeEnded(exchange: ExchangeView, target: StatsTarget | undefined): void {
    const { version, evaluation } = exchange;
    const place = target ?? (version === undefined ? this.#counter.gateway : this.#versionTarget(version));
    this.#counter.count(place, exchange);
    const { caller } = evaluation;
    if (caller.kind !== 'api_key') return;
    this.#counter.countKey(caller.id, caller.name, version?.app.id ?? '', exchange);
  }

  /** Sends the last counts. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#send(Math.floor(this.#deps.clock.nowMs() / SECOND_MS));
  }

  #waitForSecond(): NodeJS.Timeout {
    const waitMs = SECOND_MS - (this.#deps.clock.nowMs() % SECOND_MS) + MARGIN_MS;
    return setTimeout(() => {
      this.#timer = this.#waitForSecond();
      this.#send(Math.floor((this.#deps.clock.nowMs() - MARGIN_MS) / SECOND_MS) - 1);
    }, waitMs);
  }

  #send(unixSecs: number): void {
    const report = this.#counter.report(unixSecs, ...this.#deps.gauges());
    if (report !== undefined) this.#deps.send(report);
  }

  #versionTarget(version: Version): StatsTarget {
    let target = this.#versions.get(version);
    if (target !== undefined) return target;
    const { app } = version;
    let parent = this.#apps.get(app);
    if (parent === undefined) {
      parent = statsTarget({ kind: 'app', appId: app.id, app: app.slug }, this.#counter.gateway);
      this.#apps.set(app, parent);
    }
    const ids = { appId: app.id, app: app.slug, versionId: version.id, version: version.label };
    target = statsTarget({ kind: 'version', ...ids }, parent);
    this.#versions.set(version, target);
    return target;
  }
}
