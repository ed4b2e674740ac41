/** What notices events, with a clock and a log of its own: thresholds on both sides, and that what flaps is bounded. */
import { describe, expect, it } from 'vitest';
import type { NoticedEvent } from '../../model/events/event-log.ts';
import type { App, Revision, Version } from '../../model/resources.ts';
import type { NodeRecord } from '../../storage/repository.ts';
import { EVENT_TYPES } from '../../model/events/events.ts';
import { Value } from 'typebox/value';
import { CertificateEvents } from './certificate-events.ts';
import { HealthEvents, OWN_TARGETS_MAX } from './health-events.ts';
import { LimitEvents } from './limit-events.ts';
import { LimitNotes, PERIOD_MS_MIN, type LimitReached } from './limit-notes.ts';
import { LoginEvents, REFUSED_MIN } from './login-events.ts';
import { NodeEvents } from './node-events.ts';
import { BURST, EARN_MS, PacedEvents } from './paced-events.ts';
import { ReachWatch } from './reach-watch.ts';
import { crossedSpans, DAY_MS, reachedThreshold } from './thresholds.ts';
import { ToldOnce } from './told-once.ts';
import { VersionEvents } from './version-events.ts';

const START_MS = Date.parse('2026-06-01T00:00:00.000Z');
const iso = (ms: number): string => new Date(ms).toISOString();
const app = { id: 'a1', slug: 'shop' } as App;
const revision = { id: 'r1', revision: 'blue' } as Revision;
const version = (fields: Partial<Version>): Version =>
  ({
    id: 'v1',
    version: 'v1',
    status: 'deprecated',
    deprecated_at: null,
    sunset_at: null,
    ...fields,
  }) as Version;

function bench() {
  const recorded: NoticedEvent[] = [];
  const time = { nowMs: START_MS, setBackMs: 0 };
  const clock = { nowMs: () => time.nowMs - time.setBackMs, monotonicMs: () => time.nowMs - START_MS };
  const log = {
    record: (event: NoticedEvent): void => {
      const row = EVENT_TYPES.get(event.type);
      // What the catalogue promises.
      expect(Value.Errors(row?.data ?? {}, event.data)).toEqual([]);
      expect((event.dedupe_key ?? '').length).toBeLessThanOrEqual(200);
      recorded.push(event);
    },
  };
  const types = (): string[] => recorded.map(({ type }) => type);
  return { recorded, time, clock, log, types, paced: new PacedEvents(log, clock), told: new ToldOnce(log) };
}

describe('breakers and targets', () => {
  const move = (from: string, to: string) =>
    ({ revisionId: 'r1', detail: 'status 500', move: { from, to, event: 'x', atMs: 0 } }) as never;

  function health() {
    const made = bench();
    const open = new Set<string>();
    const events = new HealthEvents({
      paced: made.paced,
      clock: made.clock,
      placeOf: (id) => (id === 'r1' ? { app, version: version({}), revision } : undefined),
      isOpen: (id) => open.has(id),
    });
    return { ...made, open, events };
  }

  it('are told when they open and close, not at each trial', () => {
    const { events, recorded, types } = health();
    for (const [from, to] of [
      ['closed', 'open'],
      ['open', 'half_open'],
      ['half_open', 'open'],
      ['open', 'half_open'],
      ['half_open', 'closed'],
    ] as const)
      events.breakerMoved(move(from, to));
    expect(types()).toEqual(['breaker.opened', 'breaker.closed']);
    expect(recorded[0]).toMatchObject({
      app_id: 'a1',
      subject: { kind: 'revision', id: 'r1', name: 'shop v1 blue' },
      data: { app: 'shop', version: 'v1', revision: 'blue', reason: 'status 500' },
    });
  });

  it('a flapping state is reported a limited number of times, and at last in its final state', () => {
    const { events, recorded, types, time, paced } = health();
    for (let at = 0; at < 1_000; at += 1) {
      events.breakerMoved(move('closed', 'open'));
      events.breakerMoved(move('half_open', 'closed'));
      time.nowMs += 10;
    }
    events.breakerMoved(move('closed', 'open'));
    expect(types().length).toBe(BURST);
    time.nowMs += EARN_MS;
    paced.tick();
    expect(types().slice(BURST)).toEqual(['breaker.opened']);
    expect(recorded.at(-1)?.data).toMatchObject({ left_out: 1_000 - BURST / 2 });
    paced.tick();
    expect(types().length).toBe(BURST + 1);
    // Each one that this gateway tells has a key of its own.
    expect(new Set(recorded.map(({ dedupe_key: key }) => key)).size).toBe(BURST + 1);
  });

  it('a breaker that is removed with its backend is reported as closed', () => {
    const { events, open, types } = health();
    open.add('r1');
    events.breakerMoved(move('closed', 'open'));
    events.tick();
    expect(types()).toEqual(['breaker.opened']);
    open.delete('r1');
    events.tick();
    events.tick();
    expect(types()).toEqual(['breaker.opened', 'breaker.closed']);
  });

  it('the same change on two gateways has one key', () => {
    const [one, other] = [health(), health()];
    other.time.nowMs += 100;
    for (const { events } of [one, other])
      events.targetChanged({ revisionId: 'r1', target: '10.0.0.1:80', reason: 'five failures in a row' });
    expect(one.recorded[0]?.dedupe_key).toBe(other.recorded[0]?.dedupe_key);
    one.events.targetChanged({ revisionId: 'r1', target: '10.0.0.1:80', reason: undefined });
    expect(one.types()).toEqual(['target.ejected', 'target.returned']);
  });

  it('of endless new targets, which DNS can name, leave room for the targets of others', () => {
    const { events, time, recorded } = health();
    const eject = (number: number): void =>
      events.targetChanged({
        revisionId: 'r1',
        target: `10.0.${number >> 8}.${number & 255}:80`,
        reason: 'slow',
      });
    for (let number = 0; number < 5_000; number++) eject(number);
    expect(recorded).toHaveLength(OWN_TARGETS_MAX + BURST);
    // Those that had events go on having them; of the others, the latest is told when there is room again.
    eject(3);
    expect(recorded.at(-1)?.data).toMatchObject({ target: '10.0.0.3:80' });
    time.nowMs += 3_600_001;
    eject(4_999);
    expect(recorded.at(-1)?.data).toMatchObject({ target: '10.0.19.135:80' });
  });
});

describe('versions', () => {
  it('are told deprecated once, and their sunset at each threshold', () => {
    const { told, types, recorded } = bench();
    const events = new VersionEvents(told, [30, 7, 1]);
    const sunset = START_MS + 40 * DAY_MS;
    const placed = { app, version: version({ deprecated_at: iso(START_MS), sunset_at: iso(sunset) }) };
    const days: unknown[] = [];
    for (let hour = 0; hour < 41 * 24; hour += 6) events.look([placed], START_MS + hour * 3_600_000);
    for (const { type, data } of recorded)
      if (type === 'version.sunset_near') days.push((data as { days_left: number }).days_left);
    expect(types().filter((type) => type === 'version.deprecated').length).toBe(1);
    expect(days).toEqual([30, 7, 1]);
  });

  it('are not told when they are active, not deprecated yet, or were long ago', () => {
    const { told, types } = bench();
    const events = new VersionEvents(told, [30]);
    for (const fields of [
      { status: 'active', sunset_at: iso(START_MS + DAY_MS) },
      { deprecated_at: iso(START_MS + DAY_MS) },
      { deprecated_at: iso(START_MS - 8 * DAY_MS) },
      { sunset_at: iso(START_MS + 31 * DAY_MS) },
    ] as const)
      events.look([{ app, version: version(fields) }], START_MS);
    expect(types()).toEqual([]);
  });

  it('are told called after their sunset once a day, not before', () => {
    const { told, types } = bench();
    const events = new VersionEvents(told, []);
    const placed = { app, version: version({ sunset_at: iso(START_MS + DAY_MS) }) };
    for (let hour = 0; hour < 72; hour += 1) events.called(placed, START_MS + hour * 3_600_000);
    expect(types()).toEqual(['version.called_after_sunset', 'version.called_after_sunset']);
  });
});

it('a certificate is reported at each threshold, and when it has expired', () => {
  const { told, recorded } = bench();
  const events = new CertificateEvents(told, [14, 3, 1]);
  const expiresAtMs = START_MS + 20 * DAY_MS;
  for (let hour = 0; hour < 23 * 24; hour += 6)
    events.look(
      'traffic',
      [{ names: ['a.example'], validFromMs: 0, expiresAtMs }],
      START_MS + hour * 3_600_000,
    );
  expect(recorded.map(({ data }) => (data as { days_left: number }).days_left)).toEqual([14, 3, 1, 0]);
});

describe('thresholds', () => {
  it.each([
    [15, undefined],
    [14, 14],
    [3.1, 14],
    [3, 3],
    [0.5, 1],
    [0, undefined],
    [-1, undefined],
  ])('%s days before: %s', (days, expected) => {
    expect(reachedThreshold(START_MS + days * DAY_MS, START_MS, [14, 3, 1])).toBe(expected);
  });

  it('sweeps at any moments find each end once, at the lowest threshold that it has reached', () => {
    const thresholds = [14, 3, 1];
    const ends = Array.from({ length: 400 }, (_, index) => START_MS + index * 0.1 * DAY_MS);
    const found = new Map<number, number[]>();
    let since: number | undefined;
    for (const at of [0, 0.01, 2, 2.5, 9, 9.001, 30, 39, 45]) {
      const nowMs = START_MS + at * DAY_MS;
      const spans = crossedSpans(since, nowMs, thresholds);
      for (const end of ends) {
        const hits = spans.filter(({ after, upTo }) => end > after && end <= upTo);
        expect(hits.length).toBeLessThanOrEqual(1);
        const [hit] = hits;
        if (hit === undefined) continue;
        const least = end <= nowMs ? 0 : reachedThreshold(end, nowMs, thresholds);
        const told = found.get(end) ?? [];
        // Never twice, and never further away than before.
        expect(told.at(-1) ?? Infinity).toBeGreaterThan(least ?? NaN);
        expect(hit.upTo).toBe(nowMs + (least ?? NaN) * DAY_MS);
        found.set(end, [...told, least ?? NaN]);
      }
      since = nowMs;
    }
    for (const end of ends.filter((each) => each > START_MS)) expect(found.get(end)?.at(-1)).toBe(0);
  });
});

it('a store that answers only now and then is reported neither as away nor as back', () => {
  const told: string[] = [];
  const watch = new ReachWatch(
    { awayMs: 5_000, backMs: 3_000 },
    { onAway: (reason) => told.push(reason), onBack: (seconds) => told.push(`back ${seconds}`) },
  );
  const look = (fromSecs: number, toSecs: number, problem: string | undefined): void => {
    for (let at = fromSecs; at < toSecs; at += 1) watch.look(problem, at * 1000);
  };
  look(0, 4, 'gone');
  look(4, 5, undefined);
  look(5, 10, 'gone');
  expect(told).toEqual([]);
  look(10, 20, 'gone');
  look(20, 22, undefined);
  look(22, 60, 'gone');
  look(60, 70, undefined);
  expect(told).toEqual(['gone', 'back 55']);
});

describe('gateways', () => {
  const node = (id: string, seenMs: number): NodeRecord => ({
    id,
    name: id,
    programVersion: '1.0.0',
    startedAt: '',
    lastSeenAt: iso(START_MS + seenMs),
    configVersion: 1,
  });

  it('a gateway that falls silent is reported as missing once, whichever gateway notices it; one that stops is not', () => {
    const [one, other] = [bench(), bench()];
    for (const { log } of [one, other]) {
      const events = new NodeEvents(log, 5_000);
      events.look([node('a', 0), node('b', 0), node('c', 0)]);
      events.look([node('a', 3_000), node('b', 0), node('c', 3_000)]);
      // The row of c is gone: it has stopped.
      events.look([node('a', 4_000), node('b', 0)]);
      events.look([node('a', 5_100)]);
      events.look([node('a', 9_000)]);
      events.look([node('a', 12_000), node('b', 12_000)]);
    }
    expect(one.types()).toEqual(['node.left', 'node.joined']);
    expect(one.recorded).toEqual(other.recorded);
    expect(one.recorded[0]).toMatchObject({ subject: { id: 'b' }, data: { reason: 'silent' } });
  });
});

describe('limits', () => {
  const denial = (data: object) =>
    ({ kind: { code: 'rate_limited', detail: () => 'used up (key)' }, data }) as never;

  it('a worker sends a key once in a period, for each of its own limits', () => {
    const sent: LimitReached[] = [];
    const notes = new LimitNotes((reached) => sent.push(reached));
    for (let at = 0; at < 5_000; at += 1) {
      notes.note('k1', denial({ limit: 'key', id: 'keys:a1', windowMs: 1_000 }), START_MS + at);
      notes.note('k2', denial({ limit: 'ip', id: 'client', windowMs: 1_000 }), START_MS + at);
    }
    expect(sent).toEqual([
      { keyId: 'k1', limitId: 'rate_limited keys:a1', limit: 'used up (key)', windowSeconds: 1 },
    ]);
    notes.note('k1', denial({ limit: 'key', id: 'keys:a1', windowMs: 1_000 }), START_MS + PERIOD_MS_MIN);
    notes.note('k3', denial({ id: 'app:a1', max: 2 }), START_MS);
    expect(sent.slice(1)).toMatchObject([{ keyId: 'k1' }, { keyId: 'k3', windowSeconds: null }]);
  });

  it('a key is sent once for each of its limits, in whatever order it reaches them', () => {
    const sent: LimitReached[] = [];
    const notes = new LimitNotes((reached) => sent.push(reached));
    const day = denial({ limit: 'policy', id: 'app:a1', windowMs: 86_400_000 });
    const minute = denial({ limit: 'policy', id: 'endpoint:e1', windowMs: 60_000 });
    // With the same numbers, and so the same text.
    const other = denial({ limit: 'policy', id: 'endpoint:e2', windowMs: 60_000 });
    const cap = {
      kind: { code: 'concurrency_limited', detail: () => 'all in use' },
      data: { id: 'app:a1', max: 2 },
    } as never;
    for (let at = 0; at < 3; at += 1)
      for (const each of [day, minute, other, cap]) notes.note('k1', each, START_MS + at);
    expect(sent.map(({ windowSeconds }) => windowSeconds)).toEqual([86_400, 60, 60, null]);
    expect(new Set(sent.map(({ limitId }) => limitId)).size).toBe(4);
    notes.note('k1', minute, START_MS + PERIOD_MS_MIN);
    notes.note('k1', day, START_MS + PERIOD_MS_MIN);
    expect(sent.slice(4).map(({ windowSeconds }) => windowSeconds)).toEqual([60]);
  });

  it('keeps a bounded number of keys, and forgets only those that it noted first', () => {
    let sent = 0;
    const notes = new LimitNotes(() => (sent += 1));
    const note = (key: number): void =>
      notes.note(`k${key}`, denial({ id: 'keys:a1', windowMs: 1_000 }), START_MS);
    for (let key = 0; key < 30_000; key += 1) note(key);
    expect(sent).toBe(30_000);
    for (let key = 20_000; key < 30_000; key += 1) note(key);
    expect(sent).toBe(30_000);
    note(0);
    expect(sent).toBe(30_001);
  });

  it('each limit of a key has its event', () => {
    const { paced, clock, recorded } = bench();
    const events = new LimitEvents(paced, clock, {
      findKey: (id) => ({ id, name: `key ${id}`, app_id: 'a1' }),
      findApp: () => app,
    });
    const limit = 'The limit of 5 requests in 1 minute is used up (endpoint)';
    for (const limitId of ['endpoint:e1', `endpoint:e2 per header:${'x'.repeat(200)}`, 'endpoint:e1'])
      events.report({ keyId: 'k1', limitId, limit, windowSeconds: 60 });
    expect(recorded.map(({ data }) => data)).toMatchObject([{ limit }, { limit }]);
  });

  it('all workers make one event of a key, and an app no more than its budget', () => {
    const { paced, clock, recorded, time } = bench();
    const events = new LimitEvents(paced, clock, {
      findKey: (id) => ({ id, name: `key ${id}`, app_id: 'a1' }),
      findApp: () => app,
    });
    for (let worker = 0; worker < 4; worker += 1)
      events.report({ keyId: 'k1', limitId: 'keys:a1', limit: 'used up', windowSeconds: 60 });
    expect(recorded).toMatchObject([
      { type: 'limit.reached', app_id: 'a1', subject: { kind: 'token', id: 'k1', name: 'key k1' } },
    ]);
    for (let key = 0; key < 1_000; key += 1)
      events.report({ keyId: `n${key}`, limitId: 'keys:a1', limit: 'used up', windowSeconds: 60 });
    expect(recorded.length).toBe(BURST);
    time.nowMs += EARN_MS;
    paced.tick();
    expect(recorded.at(-1)?.data).toMatchObject({ left_out: 1_000 - BURST });
  });
});

it('wrong tokens are reported by network, from the fifth on, once an hour', () => {
  const { paced, clock, recorded, time } = bench();
  const events = new LoginEvents(paced, clock);
  for (let at = 1; at < REFUSED_MIN; at += 1) events.refused(`192.0.2.${at}`);
  expect(recorded).toEqual([]);
  events.refused('192.0.2.77');
  for (let at = 0; at < 100; at += 1) events.refused('192.0.2.1');
  time.nowMs += 3_600_000;
  events.refused('192.0.2.1');
  expect(recorded).toMatchObject([
    { subject: { kind: 'network', id: '192.0.2.0/24' }, data: { refused: REFUSED_MIN } },
    { subject: { id: '192.0.2.0/24' }, data: { refused: 101 } },
  ]);
  // A wall clock that is set back, as by a wrong time server, delays no event.
  time.setBackMs = 86_400_000;
  time.nowMs += 3_600_000;
  events.refused('192.0.2.1');
  for (let at = 0; at < REFUSED_MIN; at += 1) events.refused('192.0.2.1');
  expect(recorded).toHaveLength(3);
  for (let at = 0; at < REFUSED_MIN; at += 1) events.refused('2001:db8::1');
  expect(recorded.at(-1)).toMatchObject({ subject: { id: '2001:db8::/64' } });
});
