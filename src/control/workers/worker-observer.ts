/**
 * Turns what the proxy reports into metrics, access log lines and log lines of this worker, and into reports for the
 * main thread: used keys, calls of deprecated versions, and denials of policies in shadow mode. Reports are sent once a
 * second, so that a request never waits for another thread.
 */
import { WallTime, type Clock } from '../../lib/clock.ts';
import type { UsageOutcome } from '../../model/key-usage.ts';
import type { AccessLog, PlaceLabels, RouteLabels } from '../../observe/access-log.ts';
import type { Logger } from '../../observe/log.ts';
import {
  methodIndex,
  type InUse,
  type RevisionLabels,
  type RevisionRecord,
  type RouteRecord,
  type WorkerMetrics,
} from '../../observe/metrics/metrics.ts';
import { operatorDetail, type Reason } from '../../model/reason.ts';
import type { Breaker, BreakerTransition } from '../../proxy/resilience/breaker.ts';
import type { FailureKind, ProxyObserver } from '../../proxy/interfaces/observer.ts';
import type { Revision, Route, Version } from '../../proxy/interfaces/route.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { backendOf } from '../../proxy/targets/backend-of.ts';
import type { LiveTap } from '../../explain/live/live-tap.ts';
import type { ExchangeRecorder } from '../../explain/recorder.ts';
import type { TrafficRecorder } from '../../explain/traffic/traffic-recorder.ts';
import type { OverloadReason } from '../../proxy/exchange-limiter.ts';
import type { HandshakeFailure } from '../../proxy/downstream/tls/tls-failure.ts';
import { failureText, type UpstreamFailure } from '../../proxy/upstream/upstream-failure.ts';
import { LimitNotes } from '../events/limit-notes.ts';
import { HealthReporter } from '../health/health-reporter.ts';
import { Slowest } from '../../telemetry/spans/slowest.ts';
import type { TraceTap } from '../../telemetry/spans/trace-tap.ts';
import { UsageCounter } from '../../keys/usage-counter.ts';
import type { FromWorker } from './protocol.ts';
import { LogThrottle } from '../reporting/log-throttle.ts';
import type { StatsTarget } from '../../observe/stats/stats-counter.ts';
import type { StatsReporter } from '../reporting/stats-reporter.ts';
import { ShadowReporter } from '../reporting/shadow-reporter.ts';

export interface WorkerObserverDeps {
  readonly metrics: WorkerMetrics;
  /** undefined when it is switched off. */
  readonly accessLog: AccessLog | undefined;
  readonly log: Logger;
  readonly send: (message: FromWorker) => void;
  readonly recorder: ExchangeRecorder;
  /** undefined when statistics are switched off. */
  readonly traffic: TrafficRecorder | undefined;
  /** undefined when it is switched off. */
  readonly stats: StatsReporter | undefined;
  readonly live: LiveTap;
  /** undefined when traces are not exported. */
  readonly traces: TraceTap | undefined;
  readonly clock: Clock;
  breakerOf(revisionId: string): Breaker | undefined;
}

/** Where the exchanges of one route are counted; its compiled route keeps it. */
class RouteReport {
  readonly labels: RouteLabels;
  readonly record: RouteRecord;
  readonly upstream: RevisionRecord;
  /** undefined when it is switched off. */
  readonly stats: StatsTarget | undefined;
  readonly slowest = new Slowest(SLOWEST_SHARE);

  constructor(route: Route, { metrics, stats }: WorkerObserverDeps) {
    this.labels = labelsOf(route);
    this.record = metrics.routeRecord(this.labels);
    this.upstream = metrics.revisionRecord(revisionLabelsOf(route.version, route.revision));
    this.stats = stats?.targetOf(route);
  }
}

/** The setting behind each reason for a refusal, as the log names it. */
const LIMIT_OF: Readonly<Record<OverloadReason, string>> = {
  exchanges: 'max_concurrent_exchanges',
  exchanges_of_app: 'the share of max_concurrent_exchanges that one app may have',
  connections: 'max_connections',
  connections_per_ip: 'max_connections_per_ip',
  upstream_queue: 'max_upstream_queue',
  upstream_queue_timeout: 'upstream_queue_timeout_ms',
  descriptors: 'the limit of open files (ulimit -n)',
};
const NOTES_MS = 1_000;
/** The share of a route's slowest requests whose traces are kept. */
const SLOWEST_SHARE = 0.01;
/** Least interval between log lines about one version; the first is written at once. */
const DEPRECATION_MS = 10_000;
/** The same per kind of overload. */
const OVERLOAD_MS = 10_000;
/** The same per reason for a failed TLS handshake. */
const HANDSHAKE_MS = 10_000;

interface RefusedProxyHeader {
  readonly problem: string;
  readonly peer: string;
}

interface FailedHandshake {
  readonly reason: HandshakeFailure;
  readonly peer: string | undefined;
  readonly code: string;
}

/** Requests after which V8 has optimised the code that they pass. */
const WARM_EXCHANGES = 10_000;

export class WorkerObserver implements ProxyObserver {
  readonly timesUpstream = true;
  #exchanges = 0;
  readonly #deps: WorkerObserverDeps;
  readonly #keys: UsageCounter;
  readonly #limits: LimitNotes;
  readonly #health: HealthReporter;
  readonly #deprecated = new Map<
    string,
    { readonly name: string; count: number; requestId: string; quiet: number }
  >();
  readonly #places = new WeakMap<Version, PlaceLabels>();
  readonly #shadow: ShadowReporter;
  readonly #overload: LogThrottle<OverloadReason>;
  readonly #handshakes: LogThrottle<FailedHandshake>;
  readonly #proxyHeaders: LogThrottle<RefusedProxyHeader>;
  readonly #timer: NodeJS.Timeout;
  readonly #time: WallTime;

  constructor(deps: WorkerObserverDeps) {
    this.#deps = deps;
    this.#time = new WallTime(deps.clock);
    this.#keys = new UsageCounter((used) => deps.send({ type: 'keys_used', used }));
    this.#limits = new LimitNotes((reached) => deps.send({ type: 'limit_reached', reached }));
    this.#health = new HealthReporter(deps.send, (revisionId) => deps.breakerOf(revisionId));
    this.#overload = new LogThrottle(deps.clock, OVERLOAD_MS, (reason, count) =>
      deps.log.warn({ reason, count }, `request refused: worker at ${LIMIT_OF[reason]}`),
    );
    this.#handshakes = new LogThrottle(deps.clock, HANDSHAKE_MS, ({ reason, peer, code }, count) => {
      const fields = { reason, error: code, client_ip: peer, count };
      // Normal for port probes.
      if (reason === 'closed') deps.log.debug(fields, 'a TLS handshake failed');
      else deps.log.warn(fields, 'a TLS handshake failed');
    });
    this.#proxyHeaders = new LogThrottle(deps.clock, HANDSHAKE_MS, ({ peer, problem }, count) =>
      deps.log.warn({ problem, client_ip: peer, count }, 'a connection without a PROXY header was closed'),
    );
    this.#shadow = new ShadowReporter((rows) => deps.send({ type: 'shadow_denials', rows }));
    this.#timer = setInterval(() => this.#tick(), NOTES_MS);
  }

  /** Whether the code that requests pass is optimised, which a full garbage collection would undo. */
  get isWarm(): boolean {
    return this.#exchanges >= WARM_EXCHANGES;
  }

  timesStages(nowMs: number): boolean {
    return this.#deps.live.mayReport(nowMs);
  }

  policyDecided(exchange: ExchangeView, denial: Reason | undefined): void {
    const { caller, refusedKeyId } = exchange.evaluation;
    if (caller.kind === 'api_key') {
      const outcome = usageOutcome(denial);
      this.#keys.countUse(caller, outcome, exchange.nowMs);
      if (outcome === 'limited' && denial !== undefined) this.#limits.note(caller.id, denial, exchange.nowMs);
    } else if (refusedKeyId !== '' && denial !== undefined && isForCredential(denial)) {
      this.#keys.countRefusal(refusedKeyId, exchange.nowMs);
    }
  }

  exchangeEnded(exchange: ExchangeView): void {
    this.#exchanges++;
    const { metrics, accessLog, recorder, traffic, stats, live, traces } = this.#deps;
    const { route, evaluation } = exchange;
    const report = route === undefined ? undefined : this.#reportOf(route);
    if (report === undefined) metrics.unroutedRequest(exchange.errorCode ?? 'none', exchange.status);
    else {
      const { status, latencyMs, bytesIn, bytesOut, upstreamMs } = exchange;
      report.record.observe(status, latencyMs / 1000, methodIndex(exchange.method), bytesIn, bytesOut);
      if (upstreamMs >= 0) report.upstream.observeUpstream(upstreamMs / 1000);
    }
    stats?.exchangeEnded(exchange, report?.stats);
    const shadowDenials = evaluation.shadowDenials?.map(({ part }) => part);
    if (shadowDenials !== undefined) {
      for (const part of shadowDenials) metrics.shadowDenial(part);
      this.#shadow.note(exchange);
    }
    if (exchange.errorCode !== undefined || recorder.isSampling) recorder.record(exchange);
    traffic?.exchangeEnded(exchange);
    if (live.isWatched) live.exchangeEnded(exchange);
    traces?.exchangeEnded(exchange, report?.slowest);
    if (accessLog?.wants(exchange.status, exchange.errorCode, exchange.isAborted) !== true) return;
    const { head, protocol } = exchange.connection;
    accessLog.write({
      timeMs: this.#time.at(exchange.startedMs + exchange.durationMs),
      requestId: exchange.requestId,
      traceId: exchange.traced()?.traceId,
      labels: report?.labels ?? this.#placeOf(exchange.version),
      upstreamProtocol: exchange.upstreamProtocol,
      target: exchange.target?.backend.authority,
      // An unreadable request may still have a first line.
      method: exchange.method || head.method,
      host: head.host,
      path: exchange.path || pathOf(head.target),
      status: exchange.status,
      bytesIn: exchange.bytesIn,
      bytesOut: exchange.bytesOut,
      durationMs: exchange.durationMs,
      upstreamMs: exchange.upstreamMs < 0 ? undefined : exchange.upstreamMs,
      keyId: evaluation.caller.kind === 'anonymous' ? undefined : evaluation.caller.id,
      clientIp: exchange.clientIp,
      protocol,
      errorCode: exchange.errorCode,
      errorDetail: exchange.reason === undefined ? '' : operatorDetail(exchange.reason),
      isAborted: exchange.isAborted,
      shadowDenials,
      retries: exchange.retries,
    });
  }

  upstreamFailed(failure: UpstreamFailure, exchange: ExchangeView): void {
    const { log } = this.#deps;
    const { route } = exchange;
    const report = route === undefined ? undefined : this.#reportOf(route);
    report?.upstream.upstreamError(failure.cause);
    log.warn(
      {
        request_id: exchange.requestId,
        trace_id: exchange.trace?.traceId,
        cause: failure.cause,
        detail: failureText(failure),
        ...(report !== undefined && {
          ...report.labels,
          backend: route && backendOf(exchange, route).authority,
        }),
      },
      'a request to a backend failed',
    );
  }

  attemptRepeated(reason: string): void {
    this.#deps.metrics.upstreamRetry(reason);
  }

  retryRefused(condition: string): void {
    this.#deps.metrics.upstreamRetryRefused(condition);
  }

  deprecatedVersionUsed(exchange: ExchangeView, version: Version): void {
    const note = this.#deprecated.get(version.id);
    if (note !== undefined) {
      note.count += 1;
      note.requestId = exchange.requestId;
      return;
    }
    const name = `${version.app.slug}/${version.label}`;
    this.#deprecated.set(version.id, { name, count: 0, requestId: exchange.requestId, quiet: 0 });
    this.#deps.send({
      type: 'deprecated_used',
      versionId: version.id,
      name,
      count: 1,
      requestId: exchange.requestId,
    });
  }

  backendFailed(revision: Revision, kind: FailureKind, detail: string, requestId: string): void {
    this.#health.failed(revision, kind, detail, requestId, this.#deps.clock.nowMs());
  }

  breakerChanged(revision: Revision, move: BreakerTransition, detail: string, requestId: string): void {
    this.#health.moved(revision, move, detail, requestId);
  }

  overloaded(reason: OverloadReason): void {
    this.#deps.metrics.overloaded(reason);
    this.#overload.report(reason, reason, 1);
  }

  gaveWay(): void {
    this.#deps.metrics.idleConnectionClosed();
  }

  handshakeFailed(reason: HandshakeFailure, peer: string | undefined, code: string): void {
    this.#deps.metrics.handshakeFailed(reason);
    this.#handshakes.report(reason, { reason, peer, code }, 1);
  }

  proxyHeaderRefused(problem: string, peer: string): void {
    this.#deps.metrics.proxyHeaderRefused();
    this.#proxyHeaders.report(problem, { peer, problem }, 1);
  }

  internalError(error: unknown, requestId: string): void {
    this.#deps.metrics.internalError();
    this.#deps.log.error({ request_id: requestId, err: error }, 'internal error in the proxy');
  }

  /** Sends the shadow denials so far, for a report that is requested now. */
  sendShadowDenials(): void {
    this.#shadow.send();
  }

  /** Sends what was collected. */
  #tick(): void {
    const { send } = this.#deps;
    this.#time.follow();
    this.#keys.tick();
    this.#health.send();
    this.#overload.tick();
    this.#handshakes.tick();
    this.#proxyHeaders.tick();
    this.#shadow.send();
    this.#deps.traffic?.tick();
    for (const [versionId, note] of this.#deprecated) {
      if (note.count > 0) {
        send({
          type: 'deprecated_used',
          versionId,
          name: note.name,
          count: note.count,
          requestId: note.requestId,
        });
        note.count = 0;
        note.quiet = 0;
      } else if (++note.quiet * NOTES_MS >= DEPRECATION_MS) this.#deprecated.delete(versionId);
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#deps.stats?.stop();
    this.#tick();
    this.#deps.live.stop();
    this.#deps.traces?.flush();
    this.#keys.flush();
  }

  /** The labels of an exchange without a route. */
  #placeOf(version: Version | undefined): PlaceLabels | undefined {
    if (version === undefined) return undefined;
    let place = this.#places.get(version);
    if (place === undefined) {
      place = Object.freeze({ app: version.app.slug, version: version.label });
      this.#places.set(version, place);
    }
    return place;
  }

  /** Created at the first request of a route and kept on it. */
  #reportOf(route: Route): RouteReport {
    if (route.report instanceof RouteReport) return route.report;
    const report = new RouteReport(route, this.#deps);
    route.report = report;
    return report;
  }
}

/** The path of an unmatched target as it was sent, without a query. */
function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}

function labelsOf({ version, revision, template }: Route): RouteLabels {
  return Object.freeze({
    app: version.app.slug,
    version: version.label,
    revision: revision.label,
    route: template,
  });
}

function revisionLabelsOf(version: Version, revision: Pick<Revision, 'label'>): RevisionLabels {
  return Object.freeze({ app: version.app.slug, version: version.label, revision: revision.label });
}

/** The labels of all routes of these versions. */
export function labelsInUse(versions: () => Iterable<Version>): InUse {
  return {
    *revisions() {
      for (const version of versions())
        for (const revision of version.revisions) yield revisionLabelsOf(version, revision);
    },
    *routes() {
      for (const { revisions } of versions()) {
        for (const { endpoints, fallback } of revisions) {
          for (const route of endpoints.entries) yield labelsOf(route);
          if (fallback !== undefined) yield labelsOf(fallback);
        }
      }
    },
  };
}

function usageOutcome(denial: Reason | undefined): UsageOutcome {
  if (denial === undefined) return 'allowed';
  const { code } = denial.kind;
  return code === 'rate_limited' || code === 'concurrency_limited' ? 'limited' : 'denied';
}

/** Whether the credential was refused, as opposed to an anonymous caller refused for other reasons. */
function isForCredential({ kind: { code } }: Reason): boolean {
  return code === 'credentials_invalid' || code === 'too_many_auth_failures';
}
