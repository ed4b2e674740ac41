/** The time series of one gateway against a naive twin that keeps every report. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf, lowerBoundMs, BUCKETS, quantileMs } from './stats-buckets.ts';
import { REQUESTS, StatsColumns } from './stats-columns.ts';
import { StatsCounter, statsTarget, COUNTED_MAX, type CountedExchange } from './stats-counter.ts';
import { routeKey, StatsHistory } from './stats-history.ts';
import { totalOf } from './stats-question.ts';
import { gridOf, readSeries, type StatsSubject } from './stats-window.ts';

const columns = new StatsColumns([
  ['no_route', true],
  ['upstream_timeout', false],
]);
const START_MS = 1_767_225_600_000;
const MIB = 1_048_576;

function started(bytesMax = 16 * MIB) {
  let nowMs = START_MS;
  const history = new StatsHistory(columns, bytesMax, () => nowMs);
  const advance = (secs: number): void => {
    nowMs += secs * 1000;
    history.tick();
  };
  return { history, advance, nowSecs: () => Math.floor(nowMs / 1000) };
}

const exchange = (over: Partial<CountedExchange> = {}): CountedExchange => ({
  status: 200,
  errorCode: undefined,
  latencyMs: 3,
  upstreamMs: 2,
  bytesIn: 1,
  bytesOut: 10,
  retries: 0,
  ...over,
});

function targetsOf(counter: StatsCounter, app: number, route: number) {
  const names = { appId: `a${app}`, app: `app-${app}` };
  const ids = { ...names, versionId: `v${app}`, version: 'v1' };
  const ofApp = statsTarget({ kind: 'app', ...names }, counter.gateway);
  const ofVersion = statsTarget({ kind: 'version', ...ids }, ofApp);
  return statsTarget({ kind: 'route', ...ids, route: `GET /${route}` }, ofVersion);
}

const requests = (
  history: StatsHistory,
  subject: StatsSubject,
  window: '15m' | '24h',
  step: number,
): number =>
  totalOf(readSeries(history, subject, gridOf(history, window, step)).steps, columns.length)[REQUESTS] ?? 0;

describe('buckets', () => {
  it('are at most 12.5 % wide', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.04, max: 60_000, noNaN: true }), (ms) => {
        const bucket = bucketOf(ms);
        expect(lowerBoundMs(bucket)).toBeLessThanOrEqual(ms);
        expect(lowerBoundMs(bucket + 1)).toBeGreaterThan(ms);
        expect(lowerBoundMs(bucket + 1) / lowerBoundMs(bucket)).toBeLessThanOrEqual(1.1251);
      }),
    );
    for (const odd of [Number.NaN, -1, 0]) expect(bucketOf(odd)).toBe(0);
    for (const long of [1e9, Infinity]) expect(bucketOf(long)).toBe(BUCKETS - 1);
  });

  it('give quantiles within 12.5 % of the exact ones', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.1, max: 50_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.95, 0.99),
        (times, quantile) => {
          const counts = new Float64Array(BUCKETS);
          for (const ms of times) counts[bucketOf(ms)]! += 1;
          const sorted = [...times].sort((a, b) => a - b);
          const exact = sorted[Math.ceil(quantile * sorted.length) - 1] ?? 0;
          const told = quantileMs(counts, 0, quantile) ?? 0;
          expect(Math.abs(told - exact) / exact).toBeLessThanOrEqual(0.1251);
        },
      ),
    );
  });
});

describe('series', () => {
  it('say the same as a list of all requests, whatever the pauses', () => {
    const action = fc.record({
      app: fc.nat({ max: 3 }),
      route: fc.nat({ max: 3 }),
      count: fc.nat({ max: 5 }),
      pauseSecs: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 70 }), fc.nat({ max: 2_000 })),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const { history, advance, nowSecs } = started();
        const counter = new StatsCounter(columns);
        const seen: { readonly at: number; readonly app: number }[] = [];
        for (const { app, route, count, pauseSecs } of actions) {
          for (let index = 0; index < count; index++) {
            counter.count(targetsOf(counter, app, route), exchange());
            seen.push({ at: nowSecs(), app });
          }
          const report = counter.report(nowSecs(), 0, 0);
          if (report !== undefined) history.add(1, report);
          advance(pauseSecs);
        }
        advance(3);
        for (const [window, step] of [
          ['15m', 1],
          ['15m', 7],
          ['24h', 60],
          ['24h', 3_600],
        ] as const) {
          const { fromSecs } = gridOf(history, window, step);
          const expected = (app?: number): number =>
            seen.filter((each) => each.at >= fromSecs && (app === undefined || each.app === app)).length;
          expect([window, requests(history, { kind: 'gateway' }, window, step)]).toEqual([
            window,
            expected(),
          ]);
          expect([window, requests(history, { kind: 'app', key: 'a1' }, window, step)]).toEqual([
            window,
            expected(1),
          ]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('go on when the clock is put back, and lose nothing', () => {
    const { history, advance, nowSecs } = started();
    const counter = new StatsCounter(columns);
    const send = (): void => {
      counter.count(targetsOf(counter, 1, 1), exchange());
      const report = counter.report(nowSecs(), 0, 0);
      if (report !== undefined) history.add(1, report);
    };
    send();
    advance(10);
    advance(-3_600);
    send();
    advance(1);
    send();
    advance(5);
    expect(requests(history, { kind: 'gateway' }, '15m', 1)).toBe(3);
    const { fromSecs, steps } = gridOf(history, '15m', 1);
    expect(fromSecs + steps).toBeLessThanOrEqual(nowSecs());
  });
});

describe('bounds', () => {
  it('10,000 apps and 100,000 routes: all are in the sum, memory stays within its bound, and a busy app keeps its own', () => {
    const bytesMax = 4 * MIB;
    const { history, advance, nowSecs } = started(bytesMax);
    const counter = new StatsCounter(columns);
    const busy = targetsOf(counter, 77_777, 1);
    let sent = 0;
    for (let second = 0; second < 100; second++) {
      for (let index = 0; index < 50; index++) counter.count(busy, exchange());
      for (let index = 0; index < 1_000; index++) {
        const route = second * 1_000 + index;
        counter.count(targetsOf(counter, route % 10_000, route), exchange());
      }
      sent += 1_050;
      const report = counter.report(nowSecs(), 0, 0);
      if (report !== undefined) history.add(1, report);
      advance(1);
    }
    advance(3);
    expect(requests(history, { kind: 'gateway' }, '15m', 1)).toBe(sent);
    expect(requests(history, { kind: 'app', key: 'a77777' }, '15m', 1)).toBe(5_000);
    expect(history.bytes).toBeLessThanOrEqual(bytesMax);
  });

  it('more routes in a second than a worker counts are in the totals of their versions and apps', () => {
    const { history, advance, nowSecs } = started();
    const counter = new StatsCounter(columns);
    const many = COUNTED_MAX.route + 500;
    for (let route = 0; route < many; route++) counter.count(targetsOf(counter, 1, route), exchange());
    counter.count(targetsOf(counter, 2, 1), exchange());
    const report = counter.report(nowSecs(), 0, 0);
    if (report !== undefined) history.add(1, report);
    advance(3);
    expect(requests(history, { kind: 'app', key: 'a1' }, '15m', 1)).toBe(many);
    expect(requests(history, { kind: 'app', key: 'a2' }, '15m', 1)).toBe(1);
  });

  it('no app takes the places of the others in a worker, and one alone gets at least half of them', () => {
    const { history, advance, nowSecs } = started();
    const counter = new StatsCounter(columns);
    for (let route = 0; route < COUNTED_MAX.route + 500; route++)
      counter.count(targetsOf(counter, 1, route), exchange());
    for (let key = 0; key < COUNTED_MAX.key + 500; key++)
      counter.countKey(`k${key}`, `key ${key}`, 'a1', exchange());
    for (let route = 0; route < 50; route++) counter.count(targetsOf(counter, 2, route), exchange());
    counter.countKey('other', 'other', 'a2', exchange());
    const report = counter.report(nowSecs(), 0, 0);
    const own = report?.places.filter((place) => place.kind === 'route' && place.appId === 'a1').length;
    expect(own).toBe(COUNTED_MAX.route / 2);
    if (report !== undefined) history.add(1, report);
    advance(3);
    expect(requests(history, { kind: 'route', key: routeKey('v2', 'GET /49') }, '15m', 1)).toBe(1);
    expect(requests(history, { kind: 'app', key: 'a1' }, '15m', 1)).toBe(COUNTED_MAX.route + 500);
    expect(report?.places).toContainEqual({ kind: 'key', id: 'other', name: 'other', appId: 'a2' });
  });

  it('nothing is reported when nothing has moved', () => {
    const counter = new StatsCounter(columns);
    expect(counter.report(1, 0, 0)).toBeUndefined();
    expect(counter.report(1, 2, 0)).toMatchObject({ connections: 2, places: [] });
    expect(counter.report(2, 2, 0)).toBeUndefined();
  });
});
