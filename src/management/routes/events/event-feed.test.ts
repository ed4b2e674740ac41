import { get, type IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock, timestamp } from '../../../lib/clock.ts';
import { SECRET_PLACES } from '../../../policy/secret-places.ts';
import { openSqlite } from '../../../storage/sqlite/sqlite.ts';
import { ADMIN_TOKEN, startManagement, START_MS } from '../../management.fixture.ts';
import { EventFeed, NO_EVENT, STREAMS_MAX, STREAMS_PER_ACTOR_MAX, type FeedReader } from './event-feed.ts';

it('lets a reader that is gone without a word give way, first of the same caller, and no other', async () => {
  const repository = await openSqlite({
    secretPlaces: SECRET_PLACES,
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
  });
  const feed = new EventFeed(repository);
  onTestFinished(async () => {
    feed.close();
    await repository.close();
  });
  const gone = new Set<string>();
  const ended: string[] = [];
  const open = (actorId: string, name: string): FeedReader | string =>
    feed.open(
      { actorId, filter: {}, after: NO_EVENT, isUnanswered: () => gone.has(name) },
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
  expect(open('dan', 'dan0')).toBe('all');
  expect(feed.size).toBe(STREAMS_MAX);
});

it('gives a reader that comes back what it has missed as fast as it reads', async () => {
  await using api = await startManagement();
  const event = {
    type: 'config.changed',
    at: timestamp(START_MS),
    node: null,
    subject: { kind: 'app', id: 'a', name: 'a' },
    data: { text: 'x'.repeat(500) },
  } as const;
  const count = 2_000;
  await api.repository.events.append(Array.from({ length: count }, () => event));
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
