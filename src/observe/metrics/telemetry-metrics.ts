/** Metrics of what the gateway sends out about its traffic: telemetry for a collector, and streams of live traffic. */
import type { Exposition } from './exposition.ts';

/** Items of an exported signal by their result. */
interface SignalUse {
  readonly exported: number;
  /** Items without room in memory. */
  readonly dropped: number;
  /** Items that the collector did not accept. */
  readonly failed: number;
  readonly queuedBytes: number | undefined;
}

/** A signal is undefined when it is not exported. */
export interface TraceUse {
  readonly traces: SignalUse | undefined;
  /** Counted in points. */
  readonly metrics: SignalUse | undefined;
  readonly logs: SignalUse | undefined;
}

/** Streams of live traffic. */
export interface LiveUse {
  readonly streams: number;
  readonly shown: number;
  /** Exchanges that were seen and not shown, because of the rate limit of the stream. */
  readonly dropped: number;
  /** Exchanges that were not sent, because the reader was too slow. */
  readonly lost: number;
  readonly refused: number;
}

/** The families of spans always exist, whichever signals are exported. */
export function addTraces(page: Exposition, { traces, metrics, logs }: TraceUse): void {
  const { exported = 0, dropped = 0, failed = 0, queuedBytes = 0 } = traces ?? {};
  page.family('counter', 'headgate_otel_spans_total', 'Spans of traces, by result of their export', [
    { labels: { result: 'exported' }, value: exported },
    { labels: { result: 'dropped' }, value: dropped },
    { labels: { result: 'failed' }, value: failed },
  ]);
  page.gauge('headgate_otel_queue_bytes', 'Bytes of spans that wait for the collector', queuedBytes);
  if (logs !== undefined)
    page.family('counter', 'headgate_otel_log_records_total', 'Lines of the log, by result of their export', [
      { labels: { result: 'exported' }, value: logs.exported },
      { labels: { result: 'dropped' }, value: logs.dropped },
      { labels: { result: 'failed' }, value: logs.failed },
    ]);
  if (metrics === undefined) return;
  page.family(
    'counter',
    'headgate_otel_metric_points_total',
    'Points of metrics, by result of their export',
    [
      { labels: { result: 'exported' }, value: metrics.exported },
      { labels: { result: 'failed' }, value: metrics.failed },
    ],
  );
}

export function addLive(page: Exposition, { streams, shown, dropped, lost, refused }: LiveUse): void {
  page.gauge('headgate_live_streams', 'Open streams of live traffic', streams);
  page.family('counter', 'headgate_live_events_total', 'Exchanges for streams of live traffic, by result', [
    { labels: { result: 'shown' }, value: shown },
    { labels: { result: 'dropped' }, value: dropped },
    { labels: { result: 'lost' }, value: lost },
  ]);
  page.family('counter', 'headgate_live_streams_refused_total', 'Refused streams of live traffic', [
    { labels: {}, value: refused },
  ]);
}
