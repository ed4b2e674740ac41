/** What is noticed reaches a real database, also one that is away for a time, and never makes its caller wait. */
import pino from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';
import { systemClock } from '../../lib/clock.ts';
import type { NoticedEvent } from '../../model/events/event-log.ts';
import type { Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';
import { EventRecorder, WAITING_EVENTS_MAX } from './event-recorder.ts';

const joined = (name: string, extra: { readonly dedupe_key?: string } = {}): NoticedEvent => ({
  type: 'node.joined',
  subject: { kind: 'node', id: name, name },
  data: { program_version: '1' },
  ...extra,
});

let repository: Repository;
let isAway: boolean;
let lines: string[];
let recorder: EventRecorder;
beforeEach(async () => {
  repository = await openSqlite({
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
    secretPlaces: SECRET_PLACES,
  });
  isAway = false;
  const reached = {
    get events() {
      if (isAway) throw new StorageUnavailable('away');
      return repository.events;
    },
  };
  lines = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  recorder = new EventRecorder({ repository: reached, nodeName: 'n', clock: systemClock, log, retryMs: 5 });
});
afterEach(() => repository.close());

const names = async () =>
  (await repository.events.after('', 500, {})).events.map(({ subject, node }) => `${node} ${subject.name}`);

it('events are stored in their order, with the gateway that noticed them; one key makes one event', async () => {
  for (let index = 0; index < 250; index += 1) recorder.record(joined(String(index)));
  recorder.record(joined('once', { dedupe_key: 'k' }));
  recorder.record(joined('twice', { dedupe_key: 'k' }));
  await recorder.stop();
  const expected = Array.from({ length: 250 }, (_, index) => `n ${index}`);
  expect(await names()).toEqual([...expected, 'n once']);
});

it('events wait while the database is away; those beyond the bound are dropped and counted', async () => {
  isAway = true;
  for (let index = 0; index < WAITING_EVENTS_MAX + 3; index += 1) recorder.record(joined(String(index)));
  expect(recorder.facts).toEqual({ waiting: WAITING_EVENTS_MAX, dropped: 3 });
  isAway = false;
  await expect.poll(() => recorder.facts.waiting, { timeout: 20_000 }).toBe(0);
  expect((await names()).slice(0, 3)).toEqual(['n 0', 'n 1', 'n 2']);
  await recorder.stop();
});

it('an end without a database is not waited for, and the log has what is lost', async () => {
  isAway = true;
  recorder.record(joined('x'));
  recorder.record(joined('y'));
  await recorder.stop();
  expect(recorder.facts).toEqual({ waiting: 2, dropped: 2 });
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { count: 2, reason: 'the gateway stops while they wait for the database', msg: 'events are dropped' },
  ]);
});

it('an event that the database refuses does not prevent the storage of others', async () => {
  for (let index = 0; index < 150; index += 1) {
    const event = joined(String(index));
    // No JSON has such a number.
    recorder.record(index === 40 ? ({ ...event, data: { program_version: 1n } } as never) : event);
  }
  await expect.poll(() => recorder.facts.waiting).toBe(0);
  expect(recorder.facts.dropped).toBe(1);
  const expected = Array.from({ length: 150 }, (_, index) => `n ${index}`);
  expect(await names()).toEqual(expected.filter((name) => name !== 'n 40'));
  await recorder.stop();
});
