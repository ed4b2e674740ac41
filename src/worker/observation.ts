/** What a worker notes and reports: its log, access log, metrics, recorders, spans and statistics. */
import { gapLine, createLogger, type Logger } from '../observe/log.ts';
import { createAccessLog, type AccessLog } from '../observe/access-log.ts';
import { standardOutput, type FileOutput } from '../observe/log-output.ts';
import { WorkerMetrics } from '../observe/metrics/metrics.ts';
import { LiveTap } from '../explain/live/live-tap.ts';
import { ExchangeRecorder } from '../explain/recorder.ts';
import { shareOfWorker, TrafficRecorder } from '../explain/traffic/traffic-recorder.ts';
import type { Clock } from '../lib/clock.ts';
import type { Version } from '../proxy/interfaces/route.ts';
import type { Breaker } from '../proxy/resilience/breaker.ts';
import { BatchWriter } from '../telemetry/ring/batch-ring.ts';
import { createLogTap } from '../telemetry/logs/log-tap.ts';
import { TraceTap } from '../telemetry/spans/trace-tap.ts';
import { StatsReporter } from '../control/reporting/stats-reporter.ts';
import { labelsInUse, WorkerObserver } from '../control/workers/worker-observer.ts';
import type { FromWorker, WorkerStart } from '../control/workers/protocol.ts';
import type { OtelSettings } from '../settings/settings-types.ts';
import type { Settings } from '../settings/settings.ts';

export interface ObservedWorker {
  readonly clock: Clock;
  readonly send: (message: FromWorker) => void;
  /** Versions of the configuration in force, for the labels of metrics. */
  readonly versions: () => Iterable<Version>;
  /** The id of the key with this digest of what was presented. */
  readonly findKeyId: (digest: string) => string | undefined;
  readonly breakerOf: (revisionId: string) => Breaker | undefined;
  /** Open connections of clients, and requests under way. */
  readonly gauges: () => readonly [connections: number, inFlight: number];
}

export interface Observation {
  readonly output: FileOutput;
  readonly log: Logger;
  readonly accessLog: AccessLog | undefined;
  readonly metrics: WorkerMetrics;
  readonly recorder: ExchangeRecorder;
  readonly live: LiveTap;
  /** undefined when no requests are recorded for plans. */
  readonly traffic: TrafficRecorder | undefined;
  readonly observer: WorkerObserver;
}

export function createObservation(start: WorkerStart, worker: ObservedWorker): Observation {
  const { settings, workerNumber, exported } = start;
  const { clock, send, findKeyId, breakerOf } = worker;
  const output = standardOutput({ gapLine: gapLine(settings.log.format, clock) });
  const onRingFilling = (): void => send({ type: 'ring_fills' });
  const log = createLogger({
    ...settings.log,
    output,
    clock,
    base: { worker: workerNumber },
    onLine: exported?.logs && createLogTap(exported.logs, clock, onRingFilling),
  });
  const { format, level, access: mode, accessFields: fields } = settings.log;
  const accessLog = createAccessLog(output, { format, level, mode, fields });
  const metrics = new WorkerMetrics({ inUse: labelsInUse(worker.versions) });
  const recorder = new ExchangeRecorder(findKeyId);
  const live = new LiveTap({
    workerNumber,
    send,
    keep: (id, exchange) => recorder.keepLive(id, exchange),
  });
  const traffic =
    settings.traffic.records === 0
      ? undefined
      : new TrafficRecorder({ ...shareOfWorker(settings.traffic, settings.workers), findKeyId });
  const stats =
    settings.stats.maxBytes === 0
      ? undefined
      : new StatsReporter({
          clock,
          send: (report) => send({ type: 'stats', report }),
          gauges: worker.gauges,
        });
  const traces = traceTap(start, clock, onRingFilling);
  const observer = new WorkerObserver({
    metrics,
    accessLog,
    log,
    send,
    recorder,
    traffic,
    stats,
    live,
    traces,
    clock,
    breakerOf,
  });
  return { output, log, accessLog, metrics, recorder, live, traffic, observer };
}

/** How requests are traced; undefined when no traces are exported. */
export function tracingOf({ otel }: Settings): OtelSettings | undefined {
  return otel?.tracesUrl === undefined ? undefined : otel;
}

function traceTap(
  { settings, exported }: WorkerStart,
  clock: Clock,
  onRingFilling: () => void,
): TraceTap | undefined {
  const tracing = tracingOf(settings);
  return (
    tracing &&
    new TraceTap({
      keep: tracing.keep,
      ring: exported?.spans && new BatchWriter(exported.spans, onRingFilling),
      epochMs: () => clock.nowMs() - clock.monotonicMs(),
    })
  );
}
