/** Thresholds of what is a problem, on both sides, and that a problem ends with its cause. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import type { NodeRecord } from '../../storage/repository.ts';
import type { DeliveryState } from '../../storage/delivery-store.ts';
import { KeySetFailures } from '../../observe/key-set-failures.ts';
import { keySetProblems } from './key-set-problems.ts';
import { certificatesToRenew } from './certificate-problems.ts';
import { webhookProblems } from './event-problems.ts';
import { NodeWatch } from './node-watch.ts';
import { GrowthWatch, RECENT_MS } from './recent-events.ts';
import {
  counterProblems,
  descriptorProblems,
  diskProblems,
  memoryProblems,
  statsProblems,
} from './resource-problems.ts';

const DAY_MS = 86_400_000;
const codes = (problems: readonly { readonly code: string; readonly severity: string }[]): string[] =>
  problems.map(({ code, severity }) => `${severity} ${code}`);

describe('what runs short', () => {
  const use = (bytes: number) => ({ bytes, bytesMax: 1_000 });
  it.each([
    ['counters', counterProblems(use(899)), []],
    ['counters', counterProblems(use(900)), ['warning limit_counters_full']],
    ['series', statsProblems(undefined), []],
    ['series', statsProblems(use(899)), []],
    ['series', statsProblems(use(900)), ['info stats_full']],
    ['heap', memoryProblems([{ worker: 1, heapUsedBytes: 900 }], 1_000), []],
    ['heap', memoryProblems([{ worker: 1, heapUsedBytes: 901 }], 1_000), ['critical memory_short']],
    ['descriptors', descriptorProblems({ open: 87, limit: 100 }), []],
    ['descriptors', descriptorProblems({ open: 90, limit: 100 }), ['critical descriptors_short']],
    ['disk', diskProblems({ freeBytes: 50, totalBytes: 1_000, folder: '' }), []],
    ['disk', diskProblems({ freeBytes: 49, totalBytes: 1_000, folder: '' }), ['warning disk_full']],
    ['disk', diskProblems({ freeBytes: 9, totalBytes: 1_000, folder: '' }), ['critical disk_full']],
  ])('%s', (_name, problems, expected) => {
    expect(codes(problems)).toEqual(expected);
  });
});

it('a certificate is a problem from 14 days before its end, before its begin, and after its end', () => {
  const endMs = 100 * DAY_MS;
  const facts = { traffic: [{ names: ['a.test'], validFromMs: DAY_MS, expiresAtMs: endMs }] };
  const at = (nowMs: number): string[] => codes(certificatesToRenew(facts, nowMs));
  expect(at(0)).toEqual(['critical certificate_not_valid_yet']);
  expect(at(endMs - 15 * DAY_MS)).toEqual([]);
  expect(at(endMs - 13 * DAY_MS)).toEqual(['warning certificate_expires_soon']);
  expect(at(endMs)).toEqual(['critical certificate_expired']);
});

it('log lines that were dropped are a problem for ten minutes', () => {
  const watch = new GrowthWatch();
  const at = (ms: number): Clock => ({ nowMs: () => ms, monotonicMs: () => ms });
  watch.look(0, at(0));
  expect(watch.events.recent(at(0))).toBeUndefined();
  watch.look(3, at(1_000));
  watch.look(5, at(2_000));
  expect(watch.events.recent(at(2_000))).toEqual({ count: 5, firstMs: 1_000 });
  expect(watch.events.recent(at(2_000 + RECENT_MS + 1))).toBeUndefined();
  // Workers that are new count from 0.
  watch.look(1, at(RECENT_MS * 3));
  expect(watch.events.recent(at(RECENT_MS * 3))).toBeUndefined();
});

describe('a key set that cannot be fetched', () => {
  const uri = 'https://id.test/keys';
  const app = { slug: 'shop', default_policy: { auth: { jwt: { jwks_uri: uri } } } };
  const state = { revisions: () => [{ app, revision: { default_policy: null } }].values() as never };
  const time = { ms: 1_000 };
  const clock: Clock = { nowMs: () => time.ms, monotonicMs: () => time.ms };

  it('is one problem of its app, as bad as for the worst worker, until it is fetched or no longer used', () => {
    const [first, second] = [new KeySetFailures(clock), new KeySetFailures(clock)];
    const problems = () =>
      keySetProblems(
        [first, second].map((each) => ({ keySetFailures: each.current() })),
        state,
      );
    first.failed(uri, 'timeout', true);
    time.ms = 11_000;
    first.failed(uri, 'refused', true);
    expect(problems()).toMatchObject([
      { severity: 'warning', since: '1970-01-01T00:00:01.000Z', link: { kind: 'app', app: 'shop' } },
    ]);
    second.failed(uri, 'refused', false);
    expect(problems()).toMatchObject([{ severity: 'critical', since: '1970-01-01T00:00:01.000Z' }]);
    second.fetched(uri);
    expect(codes(problems())).toEqual(['warning key_set_unavailable']);
    time.ms += 300_001;
    expect(problems()).toEqual([]);
  });

  it('is looked for once in each revision, however many key sets fail', () => {
    const failures = new KeySetFailures(clock);
    let looked = 0;
    const apps = Array.from({ length: 50 }, (_, n) => {
      failures.failed(`${uri}/${n}`, 'refused', false);
      return { slug: `app-${n}`, default_policy: { auth: { jwt: { jwks_uri: `${uri}/${n}?key=secret` } } } };
    });
    const revision = {
      get default_policy() {
        looked += 1;
        return null;
      },
    };
    const found = keySetProblems([{ keySetFailures: failures.current() }], {
      revisions: () => apps.map((each) => ({ app: each, revision })).values() as never,
    });
    expect(found.map(({ link }) => link)).toEqual(apps.map(({ slug }) => ({ kind: 'app', app: slug })));
    expect(looked).toBe(50);
  });

  it('is bounded', () => {
    const failures = new KeySetFailures(clock);
    for (let n = 0; n < 100; n++) failures.failed(`${uri}/${n}`, 'refused', false);
    expect(failures.current()).toHaveLength(50);
  });
});

const seen = (id: string, name: string, ms: number): NodeRecord => ({
  id,
  name,
  programVersion: '1',
  startedAt: '',
  lastSeenAt: new Date(ms).toISOString(),
  configVersion: 1,
});

it('a gateway is missing after its heartbeat has ceased, until it is back under its name', () => {
  const watch = new NodeWatch(1_000);
  watch.look([seen('1', 'a', 10_000), seen('2', 'b', 8_000)], '1');
  expect(watch.problems()).toEqual([]);
  watch.look([seen('1', 'a', 11_000), seen('2', 'b', 8_000)], '1');
  expect(watch.problems()).toMatchObject([{ code: 'node_missing', link: { node: 'b' } }]);
  // Its row is gone.
  watch.look([seen('1', 'a', 12_000)], '1');
  expect(watch.vanished).toEqual(['b']);
  watch.look([seen('1', 'a', 13_000), seen('3', 'b', 13_000)], '1');
  expect(watch.problems()).toEqual([]);
});

it('a gateway is missing for an hour by the clock of the database, whatever the clock of this gateway says', () => {
  const watch = new NodeWatch(1_000);
  const beginMs = 1_000;
  watch.look([seen('a', 'a', beginMs + 10_000), seen('b', 'b', beginMs)], 'a');
  watch.look([seen('a', 'a', beginMs + 3_600_000)], 'a');
  expect(watch.vanished).toEqual(['b']);
  watch.look([seen('a', 'a', beginMs + 3_600_001)], 'a');
  expect(watch.vanished).toEqual([]);
});

describe('webhooks', () => {
  const state = (failures: number, deadLetters: number, disabled_reason: string | null = null) =>
    ({
      webhook: { name: 'hook', is_active: disabled_reason === null, disabled_reason },
      progress: { failures, last_error: 'it answered 500', failed_at_ms: 1 },
      waiting: 7,
      deadLetters,
    }) as DeliveryState;

  it.each([
    [[state(2, 0)], []],
    [[state(3, 0)], ['warning webhook_failing']],
    [[state(0, 0, 'it answered 410')], ['warning webhook_failing']],
    [[state(0, 2), state(0, 3)], ['info events_given_up']],
  ])('number %#', (states, expected) => {
    expect(codes(webhookProblems(states))).toEqual(expected);
  });
});
