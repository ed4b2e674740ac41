import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { MetricsMerger, type MergedMetrics } from './metrics-merger.ts';
import { DURATION_BOUNDS_SECS, HISTOGRAM_LENGTH, observedCount } from './histogram.ts';
import {
  bytesIn,
  bytesOut,
  methodOf,
  METHODS,
  revisionKey,
  seriesKey,
  SERIES_MAX,
  SERIES_PER_ROUTE_MAX,
  statusOf,
  type Series,
} from './metric-records.ts';
import { methodIndex, WorkerMetrics, type InUse, type WorkerSample } from './metrics.ts';

const labels = Object.freeze({ app: 'a', version: 'v1', revision: 'r1', route: '/a/v1/{id}' });
const open: WorkerMetrics[] = [];
afterEach(() => {
  for (const metrics of open.splice(0)) metrics.close();
});

function workerMetrics(options: ConstructorParameters<typeof WorkerMetrics>[0] = {}): WorkerMetrics {
  const metrics = new WorkerMetrics(options);
  open.push(metrics);
  return metrics;
}

function countsOf(sample: WorkerSample, status: number): number[] {
  return [...(sample.routes[0]?.series.find(([key]) => key === status)?.[1] ?? [])].slice(
    0,
    HISTOGRAM_LENGTH,
  );
}

/** Number of exchanges in these series. */
function requestsIn(series: Series | undefined): number {
  return (series ?? []).reduce((sum, [, counts]) => sum + observedCount(counts), 0);
}

function sampleOf(worker: number, requests: number): WorkerSample {
  const metrics = workerMetrics();
  for (let index = 0; index < requests; index++) {
    metrics.routeRecord(labels).observe(200, 0.001);
    metrics.auth('api_key');
  }
  return structuredClone(metrics.sample(worker));
}
function totalsOf(merged: MergedMetrics): (number | undefined)[] {
  return [
    requestsIn([...(merged.routes[0]?.series ?? [])]),
    merged.counters.find(({ name }) => name === 'auth_decisions')?.value,
  ];
}

describe('a route record', () => {
  it('counts a time equal to a bound in the bucket of that bound, as Prometheus does', () => {
    const metrics = workerMetrics();
    const record = metrics.routeRecord(labels);
    for (const bound of DURATION_BOUNDS_SECS) record.observe(200, bound);
    record.observe(200, 60.001);
    const counts = countsOf(metrics.sample(1), 200);
    expect(counts.slice(0, -1)).toEqual(Array.from({ length: HISTOGRAM_LENGTH - 1 }, () => 1));
  });

  it('agrees with a linear search on random times', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 70, noNaN: true })), (times) => {
        const metrics = new WorkerMetrics();
        const record = metrics.routeRecord(labels);
        const expected = Array.from({ length: HISTOGRAM_LENGTH }, () => 0);
        for (const seconds of times) {
          record.observe(200, seconds);
          const index = DURATION_BOUNDS_SECS.findIndex((bound) => seconds <= bound);
          expected[index < 0 ? DURATION_BOUNDS_SECS.length : index]! += 1;
          expected[HISTOGRAM_LENGTH - 1]! += seconds;
        }
        const counts = countsOf(metrics.sample(1), 200);
        metrics.close();
        expect(counts).toEqual(times.length === 0 ? [] : expected);
      }),
    );
  });

  it('counts statuses separately, in any order', () => {
    const metrics = workerMetrics();
    const record = metrics.routeRecord(labels);
    for (const status of [200, 404, 200, 500, 404, 200]) record.observe(status, 0.001);
    const sample = metrics.sample(1);
    expect([200, 404, 500].map((status) => countsOf(sample, status)[4])).toEqual([3, 2, 1]);
  });

  it('counts known methods separately, and sums bytes', () => {
    const metrics = workerMetrics();
    const record = metrics.routeRecord(labels);
    const methods = ['GET', 'POST', 'get', 'PROPFIND', 'x'.repeat(64), 'GET', '__proto__'];
    for (const method of methods) record.observe(200, 0.001, methodIndex(method), 10, 1_000);
    const counted = metrics
      .sample(1)
      .routes[0]?.series.map(([key, counts]) => [
        methodOf(key),
        statusOf(key),
        observedCount(counts),
        bytesIn(counts),
        bytesOut(counts),
      ]);
    expect(counted).toEqual([
      ['GET', 200, 2, 20, 2_000],
      ['POST', 200, 1, 10, 1_000],
      ['other', 200, 4, 40, 4_000],
    ]);
  });

  it('has a key for each method and status', () => {
    for (const method of METHODS) {
      for (const status of [100, 200, 499, 999]) {
        const key = seriesKey(methodIndex(method), status);
        expect([methodOf(key), statusOf(key)]).toEqual([method, status]);
      }
    }
  });

  it('has a bounded number of them, and loses no request', () => {
    const record = workerMetrics().routeRecord(labels);
    for (let round = 0; round < 2; round++)
      for (let method = 0; method < METHODS.length; method++)
        for (let status = 200; status < 600; status++) record.observe(status, 0.001, method, 1);
    const { series } = record.sample();
    const beyond = series.slice(SERIES_PER_ROUTE_MAX).map(([key]) => [methodOf(key), statusOf(key)]);
    expect(beyond).toEqual(['2xx', '3xx', '4xx', '5xx'].map((status) => ['other', status]));
    expect(requestsIn(series)).toBe(2 * METHODS.length * 400);
  });

  it('has classes of statuses alone where all routes together have too many', () => {
    const metrics = workerMetrics();
    const records = Array.from({ length: 500 }, (_, index) =>
      metrics.routeRecord({ ...labels, route: String(index) }),
    );
    for (const record of records)
      for (let status = 200; status < 263; status++) record.observe(status, 0.001);
    const all = records.map((record) => record.sample().series);
    const count = all.reduce((sum, series) => sum + series.length, 0);
    expect(count).toBeGreaterThan(SERIES_MAX - 1_000);
    expect(count).toBeLessThan(SERIES_MAX + records.length);
    expect(new Set(all.map(requestsIn))).toEqual(new Set([63]));
    const [last] = all.at(-1)!.map(([key]) => statusOf(key));
    expect(last).toBe('2xx');
  });

  it('counts NaN and negative times as 0', () => {
    const metrics = workerMetrics();
    for (const seconds of [-1, NaN]) metrics.routeRecord(labels).observe(200, seconds);
    expect(countsOf(metrics.sample(1), 200)).toEqual([
      2,
      ...Array.from({ length: HISTOGRAM_LENGTH - 1 }, () => 0),
    ]);
  });

  it('is the same for equal labels, so that a new snapshot continues the counts', () => {
    const metrics = workerMetrics();
    expect(metrics.routeRecord({ ...labels })).toBe(metrics.routeRecord({ ...labels }));
    expect(metrics.routeRecord({ ...labels, app: 'b' })).not.toBe(metrics.routeRecord(labels));
  });
});

describe('bounds', () => {
  it('bound the number of routes; later ones are counted under "other"', () => {
    const metrics = workerMetrics({ routesMax: 2 });
    for (let index = 0; index < 1_000; index++) {
      metrics.routeRecord({ ...labels, route: `/${index}` }).observe(200, 0.001);
    }
    const { routes } = metrics.sample(1);
    expect(routes.map((route) => route.labels.route)).toEqual(['/0', '/1', 'other']);
    expect(requestsIn(routes[2]?.series)).toBe(998);
  });

  it('drop the counts of a deleted revision, and of single deleted routes if there are many', () => {
    const inUse: { -readonly [K in keyof InUse]: InUse[K] } = {
      revisions: () => [labels],
      routes: () => ['/7', '/8', '/9'].map((route) => ({ ...labels, route })),
    };
    const metrics = workerMetrics({ routesMax: 20, inUse });
    const observe = (from: number, to: number): void => {
      for (let index = from; index < to; index++)
        metrics.routeRecord({ ...labels, route: `/${index}` }).observe(200, 0.001);
    };
    const seen = () => {
      const { routes } = metrics.sample(1);
      return Object.fromEntries(routes.map((route) => [route.labels.route, requestsIn(route.series)]));
    };
    observe(0, 9);
    expect(Object.keys(seen())).toHaveLength(9);
    const gone = metrics.routeRecord({ ...labels, route: '/0' });
    observe(9, 10);
    expect(seen()).toEqual({ '/7': 1, '/8': 1, '/9': 1 });
    const deleted = () =>
      metrics
        .sample(1)
        .counters.filter(({ name }) => name === 'deleted_requests')
        .map(({ labels: { status }, value }) => [status, value]);
    expect(deleted()).toEqual([['200', 7]]);
    // Exchanges that end after their route is deleted.
    gone.observe(200, 0.001);
    gone.observe(404, 0.001);
    expect(seen()).toEqual({ '/7': 1, '/8': 1, '/9': 1, other: 2 });
    observe(10, 18);
    // The search does not run again while the configuration is the same.
    expect(Object.keys(seen())).toHaveLength(12);
    metrics.setConfigVersion(2);
    expect(seen()).toEqual({ '/7': 1, '/8': 1, '/9': 1, other: 2 });
    metrics.revisionRecord(labels).observeUpstream(0.001);
    metrics.revisionRecord(labels).upstreamError('connect');
    expect(metrics.sample(1).revisions).toHaveLength(1);
    inUse.revisions = () => [];
    metrics.setConfigVersion(3);
    expect(seen()).toEqual({ other: 2 });
    expect(deleted()).toEqual([['200', 18]]);
    expect(metrics.sample(1).revisions).toEqual([]);
  });

  it('drop what an ended worker counted for a deleted revision', () => {
    const merger = new MetricsMerger();
    const other = { ...labels, app: 'b' };
    const counted = workerMetrics();
    for (const each of [labels, other]) {
      counted.routeRecord(each).observe(200, 0.001);
      counted.revisionRecord(each).upstreamError('connect');
    }
    merger.note([structuredClone(counted.sample(1))]);
    merger.retire(1);
    const apps = (merged: MergedMetrics): string[] =>
      [...merged.routes, ...merged.revisions].map(({ labels: { app } }) => app);
    expect(apps(merger.merge([]))).toEqual(['a', 'b', 'a', 'b']);
    expect(apps(merger.merge([], new Set([revisionKey(other)])))).toEqual(['b', 'b']);
    const merged = merger.merge([], new Set([revisionKey(other)]));
    expect(apps(merged)).toEqual(['b', 'b']);
    expect(merged.counters).toContainEqual({ name: 'deleted_requests', labels: { status: '200' }, value: 1 });
  });

  it('bound the number of routes of ended workers', () => {
    const merger = new MetricsMerger(2);
    for (let worker = 1; worker <= 10; worker++) {
      const metrics = workerMetrics();
      metrics.routeRecord({ ...labels, route: `/${worker}` }).observe(200, 0.001);
      merger.note([structuredClone(metrics.sample(worker))]);
      merger.retire(worker);
    }
    const { routes } = merger.merge([]);
    expect(routes.map(({ labels: { route } }) => route)).toEqual(['/1', '/2', 'other']);
    expect(requestsIn([...(routes[2]?.series ?? [])])).toBe(8);
  });

  it('bound the number of values of a label', () => {
    const metrics = workerMetrics();
    for (let index = 0; index < 10_000; index++) metrics.handshakeFailed(`reason ${index}`);
    const values = metrics.sample(1).counters.filter(({ name }) => name === 'tls_handshake_failures');
    expect(values).toHaveLength(65);
    expect(values.reduce((sum, { value }) => sum + value, 0)).toBe(10_000);
  });
});

it('an app with very many routes leaves some for others', () => {
  const metrics = workerMetrics({ routesMax: 100 });
  const appOf = (app: string, index: number): string =>
    metrics.routeRecord({ ...labels, app, route: String(index) }).labels.app;
  const named = (app: string): number =>
    Array.from({ length: 200 }, (_, index) => appOf(app, index)).filter((found) => found === app).length;
  expect([named('a'), named('b'), named('c'), named('a')]).toEqual([90, 9, 1, 90]);
});

describe('a sample', () => {
  it('survives a structured clone and contains all counts', () => {
    const metrics = workerMetrics();
    metrics.routeRecord(labels).observe(200, 0.2);
    metrics.unroutedRequest('no_route', 404);
    metrics.handshakeFailed('timeout');
    metrics.revisionRecord(labels).upstreamError('connect');
    metrics.revisionRecord(labels).observeUpstream(0.2);
    metrics.limiter('ip', true);
    metrics.limiter('ip', false);
    metrics.auth('invalid');
    metrics.shadowDenial('auth');
    metrics.internalError();
    metrics.proxyHeaderRefused();
    metrics.proxyHeaderRefused();
    metrics.idleConnectionClosed();
    metrics.setConnections({
      downstream: 3,
      upstreamIdle: 2,
      upstreamHttp2: 1,
      exchanges: 0,
      upstreamQueue: 0,
      requestBufferBytes: 0,
    });
    metrics.setConfigVersion(9);
    metrics.setLogLinesDropped(4);
    const sample = structuredClone(metrics.sample(5));
    expect(sample).toMatchObject({
      worker: 5,
      configVersion: 9,
      connections: {
        downstream: 3,
        upstreamIdle: 2,
        upstreamHttp2: 1,
        exchanges: 0,
        upstreamQueue: 0,
        requestBufferBytes: 0,
      },
    });
    expect(sample.counters).toEqual([
      { name: 'unrouted_requests', labels: { code: 'no_route', status: '404' }, value: 1 },
      { name: 'tls_handshake_failures', labels: { reason: 'timeout' }, value: 1 },
      { name: 'rate_limit_decisions', labels: { kind: 'ip', decision: 'admitted' }, value: 1 },
      { name: 'rate_limit_decisions', labels: { kind: 'ip', decision: 'refused' }, value: 1 },
      { name: 'auth_decisions', labels: { outcome: 'invalid' }, value: 1 },
      { name: 'shadow_denials', labels: { part: 'auth' }, value: 1 },
      { name: 'proxy_headers_refused', labels: {}, value: 2 },
      { name: 'idle_connections_closed', labels: {}, value: 1 },
      { name: 'internal_errors', labels: {}, value: 1 },
      { name: 'log_lines_dropped', labels: {}, value: 4 },
    ]);
    const { app, version, revision } = labels;
    expect(sample.revisions).toMatchObject([
      { labels: { app, version, revision }, errors: [['connect', 1]] },
    ]);
    expect(observedCount(sample.revisions[0]?.upstream ?? new Float64Array())).toBe(1);
    expect(sample.heapUsedBytes).toBeGreaterThan(1_000_000);
  });

  it('measures a blocked event loop', async () => {
    const metrics = workerMetrics();
    metrics.measureEventLoop();
    await new Promise((resolve) => setTimeout(resolve, 50));
    metrics.sample(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { eventLoop } = metrics.sample(1);
    expect(eventLoop.delayMaxSecs).toBeGreaterThan(0.1);
    expect(eventLoop.delayMaxSecs).toBeLessThan(5);
    expect(metrics.sample(1).eventLoop.delayMaxSecs).toBeLessThan(0.1);
    expect(eventLoop.activeSecs + eventLoop.idleSecs).toBeGreaterThan(0.2);
  });
});

describe('merging', () => {
  it('sums workers', () => {
    expect(totalsOf(new MetricsMerger().merge([sampleOf(1, 3), sampleOf(2, 4)]))).toEqual([7, 7]);
  });

  it('counts nothing twice in a second reading', () => {
    const merger = new MetricsMerger();
    const samples = [sampleOf(1, 3), sampleOf(2, 4)];
    merger.merge(samples);
    expect(totalsOf(merger.merge(samples))).toEqual([7, 7]);
  });

  it('keeps the counts of a worker that did not answer this time', () => {
    const merger = new MetricsMerger();
    merger.merge([sampleOf(1, 3), sampleOf(2, 4)]);
    const merged = merger.merge([sampleOf(2, 5)]);
    expect(totalsOf(merged)).toEqual([8, 8]);
    expect(merged.workers.map(({ worker }) => worker)).toEqual([2]);
  });

  it('never goes backwards when workers die and are replaced', () => {
    const merger = new MetricsMerger();
    let before = 0;
    for (let worker = 1; worker <= 20; worker++) {
      const [requests = 0] = totalsOf(merger.merge([sampleOf(worker, worker)]));
      expect(requests).toBe(before + worker);
      before = requests;
      merger.retire(worker);
      merger.retire(worker);
    }
    expect(totalsOf(merger.merge([]))).toEqual([210, 210]);
  });
});
