import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { SECRET_PLACES } from '../../../policy/secret-places.ts';
import { openSqlite } from '../../../storage/sqlite/sqlite.ts';
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
