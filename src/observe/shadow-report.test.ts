import { describe, expect, it } from 'vitest';
import {
  ShadowTally,
  shadowRow,
  type ShadowCaller,
  type ShadowRoute,
  type ShadowSample,
} from './shadow-tally.ts';
import { RETENTION_MS, ShadowHistory, type ShadowReportBounds } from './shadow-report.ts';

/** Start of an hour. */
const NOW_MS = Date.UTC(2026, 0, 31, 12);
const MINUTE_MS = 60_000;
const ANYONE: ShadowCaller = { kind: 'anonymous', id: '', name: '' };

const key = (id: string): ShadowCaller => ({ kind: 'api_key', id, name: `name of ${id}` });
const route = (endpointId: string, appId = 'app'): ShadowRoute => ({
  appId,
  app: appId,
  version: 'v1',
  revision: 'r1',
  revisionId: `revision of ${appId}`,
  endpointId,
  method: 'GET',
  route: `/${endpointId}`,
});
const sample = (atMs: number, part = 'auth'): ShadowSample => ({
  part,
  code: 'credentials_missing',
  detail: '',
  requestId: `at ${atMs}`,
  atMs,
});

interface Once {
  readonly endpoint?: string;
  readonly app?: string;
  readonly part?: string;
  readonly caller?: ShadowCaller;
}

/** Reports one request. */
function happen(report: ShadowHistory, nowMs: number, once: Once = {}): void {
  const place = route(once.endpoint ?? 'e', once.app);
  report.add([shadowRow(place, sample(nowMs, once.part), once.caller ?? ANYONE)], nowMs);
}

const SMALL: ShadowReportBounds = {
  segmentRows: 6,
  segmentCallers: 16,
  rows: 6,
  callers: 16,
  rowCallers: 2,
};

describe('ShadowTally', () => {
  const bounds = { rows: 2_000, callers: 20_000, rowCallers: 50 };
  const rowOf = (endpoint: string, atMs = 1, part = 'auth', caller = ANYONE, app = 'app') =>
    shadowRow(route(endpoint, app), sample(atMs, part), caller);

  it('counts per route, part and caller', () => {
    const tally = new ShadowTally(bounds);
    for (const row of [rowOf('a', 1), rowOf('a', 2), rowOf('a', 3, 'cors')]) tally.add(row);
    expect([...tally.rows()]).toMatchObject([
      { count: 2, firstMs: 1, last: { requestId: 'at 2' }, callers: [{ count: 2, firstMs: 1, lastMs: 2 }] },
      { count: 1, last: { part: 'cors' } },
    ]);
    expect([tally.rowCount, tally.callerCount]).toEqual([2, 2]);
  });

  it('has bounded routes and callers, and loses no count', () => {
    const tally = new ShadowTally(bounds);
    for (let index = 0; index < 5_000; index++) tally.add(rowOf(`e${index}`));
    for (let index = 0; index < 5_000; index++) tally.add(rowOf('e0', 1, 'auth', key(`k${index}`)));
    const rows = [...tally.rows()];
    expect(rows).toHaveLength(1_001);
    expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(10_000);
    expect(rows.at(-1)).toMatchObject({ route: undefined, appId: 'app', count: 4_000 });
    const [first] = rows;
    const named = first?.callers.reduce((sum, { count }) => sum + count, 0) ?? 0;
    expect(first?.callers.length).toBeLessThanOrEqual(100);
    expect([first?.count, named + (first?.otherCallers ?? 0)]).toEqual([5_001, 5_001]);
  });

  it('limits the number of callers in all rows together', () => {
    const tally = new ShadowTally({ ...bounds, callers: 6 });
    for (let index = 0; index < 5; index++) tally.add(rowOf(`e${index}`));
    expect(tally.callerCount).toBe(3);
    expect([...tally.rows()].map(({ callers, otherCallers }) => [callers.length, otherCallers])).toEqual([
      ...[1, 2, 3].map(() => [1, 0]),
      ...[4, 5].map(() => [0, 1]),
    ]);
    tally.forget('app');
    expect([tally.rowCount, tally.callerCount]).toEqual([0, 0]);
  });

  it('has room for the routes and callers of an app that has few, whatever another app has', () => {
    const tally = new ShadowTally(bounds);
    for (let index = 0; index < 500; index++)
      for (let caller = 0; caller < 60; caller++)
        tally.add(rowOf(`e${index}`, 1, 'auth', key(`k${caller}`), 'big'));
    for (let index = 0; index < 5_000; index++) tally.add(rowOf(`f${index}`, 1, 'auth', ANYONE, 'big'));
    for (let index = 0; index < 100; index++) tally.add(rowOf(`e${index}`, 1, 'auth', key('k'), 'small'));
    const small = [...tally.rows()].filter(({ appId }) => appId === 'small');
    expect(small.every(({ route: of, callers }) => of !== undefined && callers.length === 1)).toBe(true);
    expect(tally.usage().get('small')).toEqual({ rows: 100, callers: 100 });
    tally.forget('big');
    expect([tally.rowCount, tally.callerCount]).toEqual([100, 100]);
  });

  it('clips the names of callers', () => {
    const tally = new ShadowTally(bounds);
    tally.add(rowOf('a', 1, 'auth', { kind: 'jwt', id: 'x'.repeat(100_000), name: 'y'.repeat(100_000) }));
    const [caller] = [...tally.rows()][0]?.callers ?? [];
    expect(caller?.id).toHaveLength(256);
    expect(caller?.name).toHaveLength(256);
  });
});

describe('ShadowHistory', () => {
  it('sums what workers send, per route, part and caller', () => {
    const report = new ShadowHistory(NOW_MS);
    happen(report, NOW_MS, { caller: key('a') });
    happen(report, NOW_MS + 1_000, { caller: key('a') });
    happen(report, NOW_MS + 2_000, { caller: key('b') });
    happen(report, NOW_MS + 3_000, { part: 'cors' });
    happen(report, NOW_MS + 3_000, { app: 'another' });
    const read = report.read('app', {}, NOW_MS + 4_000);
    expect(read).toMatchObject({ total: 4, byPart: { auth: 3, cors: 1 }, sinceMs: NOW_MS, fromMs: NOW_MS });
    expect(read.rows[0]).toMatchObject({
      count: 3,
      firstMs: NOW_MS,
      last: { atMs: NOW_MS + 2_000 },
      callers: [
        { id: 'a', count: 2, lastMs: NOW_MS + 1_000 },
        { id: 'b', count: 1 },
      ],
      otherCallers: 0,
    });
  });

  it('begins at the requested minute, or at the hour for older times', () => {
    const report = new ShadowHistory(NOW_MS);
    for (let minute = 0; minute < 180; minute++) happen(report, NOW_MS + minute * MINUTE_MS + 30_000);
    const nowMs = NOW_MS + 180 * MINUTE_MS;
    const from = (minute: number) => report.read('app', { fromMs: NOW_MS + minute * MINUTE_MS }, nowMs);
    expect(from(170).total).toBe(10);
    expect(report.read('app', { fromMs: NOW_MS + 170.5 * MINUTE_MS }, nowMs)).toMatchObject({
      total: 10,
      fromMs: NOW_MS + 170 * MINUTE_MS,
    });
    expect(from(90)).toMatchObject({ total: 120, fromMs: NOW_MS + 60 * MINUTE_MS });
    expect(from(0).total).toBe(180);
    expect(from(-500)).toMatchObject({ total: 180, fromMs: NOW_MS });
    expect(from(180)).toMatchObject({ total: 0, fromMs: nowMs });
  });

  it('goes back seven days', () => {
    const report = new ShadowHistory(NOW_MS);
    happen(report, NOW_MS);
    happen(report, NOW_MS + RETENTION_MS);
    expect(report.read('app', {}, NOW_MS + RETENTION_MS).total).toBe(2);
    const read = report.read('app', {}, NOW_MS + RETENTION_MS + MINUTE_MS);
    expect(read).toMatchObject({ total: 1, sinceMs: NOW_MS + MINUTE_MS });
  });

  it('keeps the callers with the highest counts and the total exact', () => {
    const report = new ShadowHistory(NOW_MS, { ...SMALL, segmentCallers: 1_000, callers: 1_000 });
    for (let index = 0; index < 100; index++) {
      happen(report, NOW_MS, { caller: key(`noise ${index}`) });
      happen(report, NOW_MS, { caller: key('loud') });
    }
    const [row] = report.read('app', {}, NOW_MS).rows;
    expect(row?.count).toBe(200);
    expect(row?.callers[0]).toMatchObject({ id: 'loud', count: 100 });
    expect(row?.callers).toHaveLength(2);
    const named = row?.callers.reduce((sum, caller) => sum + caller.count, 0) ?? 0;
    expect(named + (row?.otherCallers ?? 0)).toBe(200);
  });

  it('has a bound per segment: further routes share a row, further callers are not named', () => {
    const report = new ShadowHistory(NOW_MS, SMALL);
    for (let index = 0; index < 10; index++) {
      happen(report, NOW_MS, { endpoint: `e${index}`, caller: key(`k${index}`) });
      happen(report, NOW_MS, { endpoint: `e${index}`, caller: key(`l${index}`) });
    }
    const { rows, total } = report.read('app', {}, NOW_MS);
    expect(total).toBe(20);
    expect(rows.map(({ route: of, count }) => [of?.route, count])).toEqual([
      [undefined, 14],
      ['/e0', 2],
      ['/e1', 2],
      ['/e2', 2],
    ]);
  });

  it('has a total bound: the oldest segments are dropped, and sinceMs shows it', () => {
    const report = new ShadowHistory(NOW_MS, SMALL);
    for (let minute = 0; minute < 10; minute++) {
      for (const endpoint of ['a', 'b']) happen(report, NOW_MS + minute * MINUTE_MS, { endpoint });
    }
    const read = report.read('app', {}, NOW_MS + 10 * MINUTE_MS);
    expect(read).toMatchObject({ total: 6, sinceMs: NOW_MS + 7 * MINUTE_MS });
  });

  it('takes the total bound from the app that has the most, and shortens no report of others', () => {
    for (const [perMinute, bounds] of [
      [{ endpoints: 3, callers: 1 }, SMALL],
      [
        { endpoints: 1, callers: 4 },
        { ...SMALL, rowCallers: 4 },
      ],
    ] as const) {
      const report = new ShadowHistory(NOW_MS, bounds);
      happen(report, NOW_MS, { app: 'small', endpoint: 's' });
      for (let minute = 1; minute <= 10; minute++)
        for (let index = 0; index < perMinute.endpoints * perMinute.callers; index++) {
          const endpoint = `e${index % perMinute.endpoints}`;
          happen(report, NOW_MS + minute * MINUTE_MS, { endpoint, caller: key(`k${index}`) });
        }
      const nowMs = NOW_MS + 11 * MINUTE_MS;
      expect(report.read('small', {}, nowMs)).toMatchObject({ total: 1, sinceMs: NOW_MS });
      const big = report.read('app', {}, nowMs);
      expect(big.total).toBeLessThanOrEqual(16);
      expect(big.total).toBeGreaterThan(0);
      expect(big.sinceMs).toBe(nowMs - (big.total / (perMinute.endpoints * perMinute.callers)) * MINUTE_MS);
    }
  });

  it('resets one app on demand', () => {
    const report = new ShadowHistory(NOW_MS);
    happen(report, NOW_MS);
    happen(report, NOW_MS, { app: 'another', endpoint: 'f' });
    report.reset('app', NOW_MS + 500);
    expect(report.read('app', {}, NOW_MS + 1_000)).toMatchObject({ total: 0, sinceMs: NOW_MS + 500 });
    expect(report.read('another', {}, NOW_MS + 1_000)).toMatchObject({ total: 1, sinceMs: NOW_MS });
    report.forget('app');
    expect(report.read('app', {}, NOW_MS + 1_000)).toMatchObject({ total: 0, sinceMs: NOW_MS });
  });

  it('continues to count when the clock is set back', () => {
    const report = new ShadowHistory(NOW_MS);
    happen(report, NOW_MS + 10 * MINUTE_MS);
    happen(report, NOW_MS);
    expect(report.read('app', {}, NOW_MS).total).toBe(2);
  });
});
