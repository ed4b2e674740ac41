/** Metrics of requests by route, and of the backends of revisions with the states of their circuit breakers. */
import type { Exposition, Value } from './exposition.ts';
import { observedCount } from './histogram.ts';
import {
  bytesIn,
  bytesOut,
  methodOf,
  statusOf,
  type RevisionLabels,
  type SeriesCounts,
} from './metric-records.ts';
import type { MergedRevision, MergedRoute } from './metrics-merger.ts';

export interface BreakerFact {
  readonly labels: RevisionLabels;
  readonly state: 'closed' | 'half_open' | 'open';
}

const BREAKER_VALUES = { closed: 0, half_open: 1, open: 2 } as const;

export function addRoutes(page: Exposition, routes: readonly MergedRoute[]): void {
  const series = routes.flatMap(({ labels, series: own }) =>
    [...own].map(([key, counts]) => ({
      labels: { ...labels, method: methodOf(key), status: statusOf(key) },
      counts,
    })),
  );
  const totals = series.map(({ labels, counts }) => ({ labels, value: observedCount(counts) }));
  const sums = (bytesOf: (counts: SeriesCounts) => number): Value[] =>
    routes.map(({ labels, series: own }) => {
      let value = 0;
      for (const counts of own.values()) value += bytesOf(counts);
      return { labels: { ...labels }, value };
    });
  const requestsHelp = 'Requests that were answered, by route, method and status';
  page.family('counter', 'headgate_requests_total', requestsHelp, totals);
  const durationHelp =
    'Time from the first byte of a request to the last of its response, or to the head of a WebSocket or of an event stream';
  page.histograms('headgate_request_duration_seconds', durationHelp, series);
  const inHelp = 'Bytes of request bodies, as received from clients';
  page.family('counter', 'headgate_request_body_bytes_total', inHelp, sums(bytesIn));
  const outHelp = 'Bytes of response bodies, as sent to clients';
  page.family('counter', 'headgate_response_body_bytes_total', outHelp, sums(bytesOut));
}

export function addRevisions(
  page: Exposition,
  revisions: readonly MergedRevision[],
  breakers: Iterable<BreakerFact>,
): void {
  const durations = revisions
    .filter(({ upstream }) => observedCount(upstream) > 0)
    .map(({ labels, upstream }) => ({ labels: { ...labels }, counts: upstream }));
  const durationHelp = 'Time from the request to a backend to the head of its response';
  page.histograms('headgate_upstream_duration_seconds', durationHelp, durations);
  const errors = revisions.flatMap(({ labels, errors: own }) =>
    [...own].map(([cause, value]) => ({ labels: { ...labels, cause }, value })),
  );
  const errorsHelp = 'Failed attempts to get a response from a backend, by revision and cause';
  page.family('counter', 'headgate_upstream_errors_total', errorsHelp, errors);
  const states = [...breakers].map(({ labels, state }) => ({
    labels: { ...labels },
    value: BREAKER_VALUES[state],
  }));
  const stateHelp = 'State of the circuit breaker of a current revision: 0 closed, 1 half open, 2 open';
  page.family('gauge', 'headgate_breaker_state', stateHelp, states);
}
