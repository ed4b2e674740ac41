import { get, type IncomingMessage } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock, timestamp } from '../../../lib/clock.ts';
import { SECRET_PLACES } from '../../../policy/secret-places.ts';
import type { FollowedEvents } from '../../../storage/event-store.ts';
import { openSqlite } from '../../../storage/sqlite/sqlite.ts';
import { until } from '../../../../test/support/measure/until.ts';
import { ADMIN_TOKEN, startManagement, START_MS } from '../../management.fixture.ts';
import { EventFeed, NO_EVENT, STREAMS_MAX, STREAMS_PER_ACTOR_MAX, type FeedReader } from './event-feed.ts';

const EVENT = {
  type: 'config.changed',
  at: timestamp(START_MS),
  node: null,
  subject: { kind: 'app', id: 'a', name: 'a' },
  data: { text: 'x'.repeat(500) },
} as const;

/**
 * A feed of a database in memory, which ends with the test.
 * @param around wraps each read of events; `read` does it
 */
async function openFeed(
  around: (read: () => Promise<FollowedEvents>) => Promise<FollowedEvents> = (read) => read(),
) {
  const repository = await openSqlite({
    secretPlaces: SECRET_PLACES,
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
  });
  const { driver, events } = repository;
  const feed = new EventFeed({
    driver,
    events: { ...events, follow: (...query) => around(() => events.follow(...query)) },
    onEvents: (listener) => repository.onEvents(listener),
  });
  onTestFinished(async () => {
    feed.close();
    await repository.close();
  });
  return { feed, events };
}

it('lets a reader that is gone without a word give way, first of the same caller, and then one of the caller with most', async () => {
  const { feed } = await openFeed();
  const gone = new Set<string>();
  const ended: string[] = [];
  const open = (actorId: string, name: string): FeedReader | string =>
    feed.open(
      {
        actorId,
        role: 'viewer',
        filter: {},
        after: NO_EVENT,
        knownRemoved: '',
        isUnanswered: () => gone.has(name),
      },
      { write: () => true, end: () => void ended.push(name) },
    );
  for (let count = 0; count < STREAMS_PER_ACTOR_MAX; count++) open('ada', `ada${count}`);
  open('bob', 'bob0');
  gone.add('bob0');
  expect(open('ada', 'more')).toBe('actor');
  gone.add('ada3');
  expect(open('ada', 'more')).toHaveProperty('reached');
  expect(ended).toEqual(['ada3']);
  expect(open('ada', 'even more')).toBe('actor');
  for (let count = feed.size; count < STREAMS_MAX; count++) open(`other${count}`, `other${count}`);
  expect(open('cyd', 'cyd0')).toHaveProperty('reached');
  expect(ended).toEqual(['ada3', 'bob0']);
  // Where all read, one of the caller with the most gives way, which cannot take it back.
  expect(open('dan', 'dan0')).toHaveProperty('reached');
  expect(ended).toEqual(['ada3', 'bob0', 'more']);
  for (const taken of ['eve', 'fay', 'guy', 'hal', 'ida', 'jon'])
    expect(open(taken, taken)).toHaveProperty('reached');
  expect(open('ada', 'again')).toBe('all');
  expect(open('kim', 'kim0')).toBe('all');
  expect(feed.size).toBe(STREAMS_MAX);
});

it('reads an event once for all readers, and gives all of them every event in order', async () => {
  let reads = 0;
  const { feed, events } = await openFeed((read) => {
    reads++;
    return read();
  });
  const got: string[][] = Array.from({ length: STREAMS_MAX }, () => []);
  for (const [index, ids] of got.entries())
    feed.open(
      {
        actorId: String(index % 8),
        role: 'viewer',
        filter: {},
        after: NO_EVENT,
        knownRemoved: '',
        isUnanswered: () => false,
      },
      {
        write: (text) => {
          ids.push(/^id: (.*)$/m.exec(text)?.[1] ?? '');
          return true;
        },
        end: () => undefined,
      },
    );
  await new Promise((done) => setTimeout(done, 20));
  reads = 0;
  const written: string[] = [];
  const writes = 100;
  for (let count = 0; count < writes; count++) {
    const stored = events.append([EVENT]).then((all) => written.push(...all.map(({ id }) => id)));
    // Some writes come while the readers read.
    if (count % 3 > 0) await stored;
    if (count % 5 === 0) await new Promise((done) => setImmediate(done));
  }
  await until(() => got.every((ids) => ids.length >= writes), 4_000);
  for (const ids of got) expect(ids).toEqual(written);
  // Each event causes a few at most, and not one for each reader.
  expect(reads).toBeLessThan(8 * writes);
});

it('does not take for the newest what was read before an event was there', async () => {
  const { feed, events } = await openFeed(async (read) => {
    const batch = await read();
    // As long as the answer of a database on the network is on its way.
    await new Promise((done) => setTimeout(done, 50));
    return batch;
  });
  const got = { early: 0, late: 0 };
  const [early] = (['early', 'late'] as const).map((name) =>
    feed.open(
      {
        actorId: name,
        role: 'viewer',
        filter: {},
        after: NO_EVENT,
        knownRemoved: '',
        isUnanswered: () => false,
      },
      { write: () => (got[name]++, true), end: () => undefined },
    ),
  );
  await new Promise((done) => setTimeout(done, 100));
  (early as FeedReader).wake();
  await new Promise((done) => setTimeout(done, 20));
  await events.append([EVENT]);
  await until(() => got.early === 1 && got.late === 1, 2_000);
  expect(got).toEqual({ early: 1, late: 1 });
});

describe('a reader that stalls while events are removed', () => {
  const OTHER = { ...EVENT, type: 'key.expired' } as const;

  /** A reader that takes one text, and no more until it is let. */
  async function stalled(filter: { types?: string[] }) {
    const { feed, events } = await openFeed();
    const got: string[] = [];
    const room = { texts: 1 };
    await events.append([EVENT, OTHER, EVENT, EVENT, EVENT]);
    const reader = feed.open(
      {
        actorId: 'ada',
        role: 'viewer',
        filter,
        after: NO_EVENT,
        knownRemoved: '',
        isUnanswered: () => false,
      },
      {
        write: (text) => {
          if (got.length >= room.texts) return false;
          got.push(/^event: (.*)$/m.exec(text)?.[1] ?? '');
          return true;
        },
        end: () => undefined,
      },
    ) as FeedReader;
    await until(() => got.length === 1, 2_000);
    const resume = async (texts: number): Promise<string[]> => {
      room.texts = Infinity;
      reader.wake();
      await until(() => got.length >= texts, 2_000);
      // Nothing comes twice.
      reader.wake();
      await new Promise((done) => setTimeout(done, 50));
      return got;
    };
    return { events, resume };
  }

  it('is told once that it misses some', async () => {
    const { events, resume } = await stalled({});
    // Its piece is read already; what comes later is removed unread.
    await events.append(Array.from({ length: 20 }, () => EVENT));
    while (!(await events.trim({ maxEvents: 4, maxAgeMs: 3_600_000 }))) continue;
    const got = await resume(6);
    expect(got.filter((name) => name === 'gap')).toEqual(['gap']);
    expect(got.slice(0, 6), 'after what it had been given').toEqual([
      ...Array.from({ length: 5 }, () => 'event'),
      'gap',
    ]);
    expect(got.at(-1)).toBe('event');
  });

  it('is told nothing if what it misses has a type that it does not read', async () => {
    const { events, resume } = await stalled({ types: ['key.expired'] });
    await events.append([...Array.from({ length: 20 }, () => EVENT), OTHER]);
    while (!(await events.trim({ maxEvents: 6, maxAgeMs: 3_600_000 }))) continue;
    expect(await resume(2)).toEqual(['event', 'event']);
  });

  it('is told nothing if it has received what is removed', async () => {
    const { events, resume } = await stalled({});
    while (!(await events.trim({ maxEvents: 2, maxAgeMs: 3_600_000 }))) continue;
    const got = await resume(5);
    await events.append([EVENT]);
    await until(() => got.length === 6, 2_000);
    expect(got).toEqual(Array.from({ length: 6 }, () => 'event'));
  });
});

it('gives a reader that comes back what it has missed as fast as it reads', async () => {
  await using api = await startManagement();
  const count = 2_000;
  await api.repository.events.append(Array.from({ length: count }, () => EVENT));
  const headers = {
    authorization: `Bearer ${ADMIN_TOKEN}`,
    accept: 'text/event-stream',
    'last-event-id': NO_EVENT,
  };
  const startedMs = performance.now();
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${api.url}/api/v1/events`, { headers, agent: false }, resolve).once('error', reject);
  });
  let text = '';
  for await (const piece of answer.setEncoding('latin1')) {
    text += String(piece);
    if (text.split('\nevent: event\n').length > count) break;
  }
  const ids = [...text.matchAll(/^id: (.*)\nevent: event$/gm)].map(([, id = '']) => id);
  expect(ids).toHaveLength(count);
  // In order, and none twice.
  expect(ids.findIndex((id, index) => index > 0 && id <= (ids[index - 1] ?? ''))).toBe(-1);
  // Less than until the stream looks for news by itself.
  expect(performance.now() - startedMs).toBeLessThan(4_500);
}, 60_000);
