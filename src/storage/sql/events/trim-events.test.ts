import fc from 'fast-check';
import type { Kysely } from 'kysely';
import { expect, test } from 'vitest';
import { makeWebhook, noticed } from '../../../../test/contract/repository-events.ts';
import { memoryDatabase } from '../../../../test/support/programs/memory-database.ts';
import { systemClock } from '../../../lib/clock.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import { migrate } from '../../migrate.ts';
import { memorySecretBox } from '../../secrets/secret-key.ts';
import type { Tables } from '../kysely-tables.ts';
import { eventsAfter, insertEvents } from './event-rows.ts';
import { lastRemoved, nextTrimming, roomOfEach, trimEvents } from './trim-events.ts';
import { webhookWrites } from './webhook-rows.ts';

const WEBHOOKS = 100;
const EVENTS = 20_000;
const TRIMMED = 100;
const AGE_MS = 86_400_000;

async function trim(db: Kysely<Tables>, maxEvents: number): Promise<void> {
  const bounds = { maxEvents, maxAgeMs: AGE_MS };
  for (;;) {
    const next = await nextTrimming(db, bounds, Date.now());
    if (next === undefined) return;
    await db.transaction().execute((writer) => trimEvents(writer, next));
    if (next.isLast) return;
  }
}

test('a removal does not cost more with more events that stay, if webhooks want none of them', async () => {
  const db = memoryDatabase();
  await migrate(db, systemClock);
  const { insertWebhook } = webhookWrites(db, memorySecretBox());
  for (let count = 0; count < WEBHOOKS; count++)
    await insertWebhook(makeWebhook({ id: uuidv7(Date.now()), app_ids: ['quiet'] }));
  const events = Array.from({ length: EVENTS }, () =>
    noticed('a', { type: 'config.changed', app_id: 'loud' }),
  );
  await db.transaction().execute((writer) => insertEvents(writer, 'sqlite', events, Date.now()));

  const msOfTrim = async (maxEvents: number): Promise<number> => {
    const startMs = performance.now();
    await trim(db, maxEvents);
    return performance.now() - startMs;
  };
  const withMany: number[] = [];
  const withFew: number[] = [];
  for (let round = 1; round <= 3; round++) withMany.push(await msOfTrim(EVENTS - round * TRIMMED));
  await db
    .deleteFrom('event')
    .where(
      'id',
      'in',
      db
        .selectFrom('event')
        .select('id')
        .orderBy('id')
        .limit(EVENTS - 8 * TRIMMED),
    )
    .execute();
  for (let round = 1; round <= 3; round++) withFew.push(await msOfTrim((5 - round) * TRIMMED));
  expect(Math.min(...withMany)).toBeLessThan(4 * Math.min(...withFew));
});

test('the events of other apps stay, however often an editor changes the configuration', async () => {
  const db = memoryDatabase();
  await migrate(db, systemClock);
  const opened = Array.from({ length: 40 }, (_none, count) =>
    noticed(`r${count}`, { type: 'breaker.opened', app_id: 'quiet' }),
  );
  const changed = Array.from({ length: EVENTS }, () =>
    noticed('a', { type: 'config.changed', app_id: 'loud' }),
  );
  await db
    .transaction()
    .execute((writer) => insertEvents(writer, 'sqlite', [...opened, ...changed], Date.now()));
  await trim(db, 1_000);
  const left = await eventsAfter(db, '', EVENTS, {});
  expect(left).toHaveLength(1_000);
  const quiet = left.filter(({ app_id }) => app_id === 'quiet');
  expect(quiet.map(({ subject }) => subject.name)).toEqual(opened.map(({ subject }) => subject.name));
  // Those of the other type are the newest, and readers can tell that there were more.
  const { upTo: last } = await lastRemoved(db, {});
  expect(left[40]?.id.localeCompare(last)).toBe(1);
  expect(last.localeCompare(quiet.at(-1)?.id ?? '~')).toBe(1);
  expect((await lastRemoved(db, { types: ['breaker.*'] })).upTo).toBe('');
});

test('the room of a type is the most that all can have together', () => {
  const counted = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(counted, fc.integer({ min: 8, max: 200 }), (counts, max) => {
      const kept = (room: number): number => counts.reduce((sum, count) => sum + Math.min(count, room), 0);
      const most = Math.max(...counts);
      let slow = most;
      while (kept(slow) > max) slow -= 1;
      expect(
        roomOfEach(
          counts.toSorted((one, other) => other - one),
          max,
        ),
      ).toBe(slow);
    }),
  );
});
