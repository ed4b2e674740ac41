/**
 * Removes the oldest events, a limited number in one transaction. What a webhook still waits for becomes a dead letter
 * of it first, unless it is switched off.
 */
import { sql, type Kysely } from 'kysely';
import type { EventBounds } from '../../event-store.ts';
import type { Tables } from '../kysely-tables.ts';
import { eventsAfter } from './event-rows.ts';
import { DEAD_LETTERS_MAX } from '../../delivery-store.ts';
import { filterOf, putDeadLetter, type WebhookFilterRow } from './webhook-rows.ts';

const TRIMMED_AT_ONCE = 500;
const HEX_OF_TIME = 12;
const TOO_OLD = 'It was not delivered before its age or the number of events removed it';

/** @returns whether everything beyond the bounds is gone */
export async function trimEvents(db: Kysely<Tables>, bounds: EventBounds): Promise<boolean> {
  const last = await lastToTrim(db, bounds);
  if (last === '') return true;
  const piece = await sql<{ id: string }>`
    select id from event where id > ${''} and id <= ${last} order by id limit 1 offset ${TRIMMED_AT_ONCE - 1}`.execute(
    db,
  );
  const upTo = piece.rows[0]?.id ?? last;
  await giveUpTo(db, upTo, bounds.now);
  await db.deleteFrom('event').where('id', '<=', upTo).execute();
  return upTo === last;
}

/** '': nothing is beyond the bounds. The newest event stays: ids go on from it. */
export async function lastToTrim(
  db: Kysely<Tables>,
  { eventsMax, before }: Omit<EventBounds, 'now'>,
): Promise<string> {
  const oldest = prefixOf(Date.parse(before));
  const { rows } = await sql<{ by_count: string | null; by_age: string | null }>`
    select
      (select id from event where id > ${''} order by id desc limit 1 offset ${Math.max(1, eventsMax)}) as by_count,
      (select id from event where id < ${oldest} and id < (select max(id) from event) order by id desc limit 1)
        as by_age`.execute(db);
  const { by_count: byCount, by_age: byAge } = rows[0] ?? { by_count: null, by_age: null };
  return [byCount ?? '', byAge ?? ''].toSorted().at(-1) ?? '';
}

/** No id of an event that was recorded at this time or later is smaller. */
function prefixOf(ms: number): string {
  const hex = ms.toString(16).padStart(HEX_OF_TIME, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

async function giveUpTo(db: Kysely<Tables>, upTo: string, now: string): Promise<void> {
  const { rows } = await sql<WebhookFilterRow & { id: string; cursor: string; is_active: number }>`
    select id, events, app_ids, is_active, cursor from webhook
    join webhook_delivery on webhook_delivery.webhook_id = webhook.id
    where cursor < ${upTo}`.execute(db);
  for (const row of rows) {
    const events =
      row.is_active === 1 ? await eventsAfter(db, row.cursor, TRIMMED_AT_ONCE, filterOf(row), upTo) : [];
    for (const event of events) {
      await putDeadLetter(db, row.id, { event, tries: 0, error: TOO_OLD, failed_at: now }, DEAD_LETTERS_MAX);
    }
    await db
      .updateTable('webhook_delivery')
      .set({ cursor: upTo, tries: 0 })
      .where('webhook_id', '=', row.id)
      .execute();
  }
}
