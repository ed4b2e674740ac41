import { expect, test } from 'vitest';
import { makeWebhook, noticed } from '../../../../test/contract/repository-events.ts';
import { at } from '../../../../test/contract/records.ts';
import { memoryDatabase } from '../../../../test/support/programs/memory-database.ts';
import { systemClock } from '../../../lib/clock.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import { migrate } from '../../migrate.ts';
import { memorySecretBox } from '../../secrets/secret-key.ts';
import { insertEvents } from './event-rows.ts';
import { trimEvents } from './trim-events.ts';
import { webhookWrites } from './webhook-rows.ts';

const WEBHOOKS = 100;
const EVENTS = 20_000;
const TRIMMED = 100;

test('what a removal costs does not grow with the events that stay, for webhooks that want none of them', async () => {
  const db = memoryDatabase();
  await migrate(db, systemClock);
  const { insertWebhook } = webhookWrites(db, memorySecretBox());
  for (let count = 0; count < WEBHOOKS; count++)
    await insertWebhook(makeWebhook({ id: uuidv7(Date.now()), app_ids: ['quiet'] }));
  const events = Array.from({ length: EVENTS }, () =>
    noticed('a', { type: 'config.changed', app_id: 'loud' }),
  );
  await db.transaction().execute((writer) => insertEvents(writer, 'sqlite', events, Date.now()));

  const msOfTrim = async (eventsMax: number): Promise<number> => {
    const startMs = performance.now();
    expect(await trimEvents(db, { eventsMax, before: at(0), now: at(0) })).toBe(true);
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
