/**
 * Removes events, a limited number in one transaction: those that are too old and, when there are too many, those of
 * the types with the most events, so that frequent types do not displace rare ones. An event that an enabled webhook
 * still waits for becomes one of its dead letters first.
 */
import { sql, type Kysely } from 'kysely';
import { timestamp } from '../../../lib/clock.ts';
import { matchesType } from '../../../model/events/events.ts';
import type { EventBounds, EventFilter, RemovedEvents } from '../../event-store.ts';
import type { EventRow, Tables } from '../kysely-tables.ts';
import { eventsAfter } from './event-rows.ts';
import { DEAD_LETTERS_MAX } from '../../delivery-store.ts';
import { filterOf, putDeadLetter, type WebhookFilterRow } from './webhook-rows.ts';

const TRIMMED_AT_ONCE = 500;
const HEX_OF_TIME = 12;
const TOO_OLD =
  'The event was removed because of its age or of the number of events, before it was delivered';
/**
 * Names of rows of key_sweep that hold the last id of a type that was removed; the type follows. Names of key sweeps
 * never begin this way.
 */
const REMOVED = 'events ';
/** The row of key_sweep for removals by age; without it, a release that did not record them may have made some. */
const AGED = 'aged events';

/** What one transaction removes. */
export interface Trimming {
  /** Limits the removal to one type; absent: all types. */
  readonly type?: EventRow['type'];
  /** The last id. */
  readonly upTo: string;
  /** RFC 3339, UTC. */
  readonly now: string;
  /** Whether nothing else exceeds the bounds. */
  readonly isLast: boolean;
}

/**
 * What to remove next; undefined when nothing exceeds the bounds. The newest event stays, because ids continue
 * from it.
 */
export async function nextTrimming(
  db: Kysely<Tables>,
  { maxEvents, maxAgeMs }: EventBounds,
  nowMs: number,
): Promise<Trimming | undefined> {
  const oldest = prefixOf(nowMs - maxAgeMs);
  const now = timestamp(nowMs);
  const { rows } = await sql<{ beyond: string | null; by_age: string | null }>`
    select
      (select id from event where id > ${''} order by id desc limit 1 offset ${maxEvents}) as beyond,
      (select id from event where id < ${oldest} and id < (select max(id) from event) order by id desc limit 1)
        as by_age`.execute(db);
  const { beyond, by_age: byAge } = rows[0] ?? { beyond: null, by_age: null };
  if (byAge !== null) {
    const piece = await sql<{ id: string }>`
      select id from event where id > ${''} and id <= ${byAge} order by id limit 1 offset ${TRIMMED_AT_ONCE - 1}`.execute(
      db,
    );
    const upTo = piece.rows[0]?.id ?? byAge;
    return { upTo, now, isLast: upTo === byAge && beyond === null };
  }
  if (beyond === null) return undefined;
  const found = await ofCommonestType(db, maxEvents);
  return found && { ...found, now };
}

/** The oldest events of the type that exceeds its limit most. */
async function ofCommonestType(
  db: Kysely<Tables>,
  maxEvents: number,
): Promise<Omit<Trimming, 'now'> | undefined> {
  const { rows } = await sql<{ type: EventRow['type']; n: number | string }>`
    select type, count(*) as n from event where type > ${''} group by type order by n desc`.execute(db);
  const counts = rows.map(({ n }) => Number(n));
  const room = roomOfEach(counts, maxEvents);
  const [type, excess] = [rows[0]?.type, (counts[0] ?? 0) - room];
  if (type === undefined || excess <= 0) return undefined;
  const last = await sql<{ id: string }>`
    select id from event where type = ${type} order by id limit 1 offset ${Math.min(excess, TRIMMED_AT_ONCE) - 1}`.execute(
    db,
  );
  const upTo = last.rows[0]?.id;
  if (upTo === undefined) return undefined;
  return { type, upTo, isLast: excess <= TRIMMED_AT_ONCE && (counts[1] ?? 0) <= room };
}

/**
 * The limit for each type so that all types together have at most `max` events: types with fewer leave the rest
 * to the others. At least one.
 * @param counts events of each type, in descending order
 */
export function roomOfEach(counts: readonly number[], max: number): number {
  let left = max;
  for (const [index, count] of counts.toReversed().entries()) {
    const share = Math.floor(left / (counts.length - index));
    if (count > share) return Math.max(1, share);
    left -= count;
  }
  return Math.max(1, counts[0] ?? 0);
}

export async function trimEvents(db: Kysely<Tables>, { type, upTo, now }: Trimming): Promise<void> {
  if (type === undefined) {
    await giveUpTo(db, upTo, now);
    await recordRemoved(db, upTo);
    await db.deleteFrom('event').where('id', '<=', upTo).execute();
    return;
  }
  await giveUpType(db, type, upTo, now);
  await db.deleteFrom('event').where('type', '=', type).where('id', '<=', upTo).execute();
  await recordUpTo(db, REMOVED + type, upTo);
}

/** Records the last event of each type among those that are too old, which are a limited number. */
async function recordRemoved(db: Kysely<Tables>, upTo: string): Promise<void> {
  const { rows } = await sql<Pick<EventRow, 'id' | 'type'>>`
    select id, type from event where id > ${''} and id <= ${upTo} order by id`.execute(db);
  const last = new Map([...rows.map(({ id, type }) => [REMOVED + type, id] as const), [AGED, upTo] as const]);
  for (const [name, id] of last) await recordUpTo(db, name, id);
}

async function recordUpTo(db: Kysely<Tables>, name: string, id: string): Promise<void> {
  await sql`
    insert into key_sweep (name, until) values (${name}, ${id})
    on conflict (name) do update set until = excluded.until where key_sweep.until < excluded.until`.execute(
    db,
  );
}

/** The last removed event among those that a filter may match. */
export async function lastRemoved(
  db: Kysely<Tables>,
  { types }: Pick<EventFilter, 'types'>,
): Promise<RemovedEvents> {
  const rows = await db
    .selectFrom('key_sweep')
    .selectAll()
    .where((row) =>
      row.or([row('name', '=', AGED), row.and([row('name', '>', REMOVED), row('name', '<', `${REMOVED}~`)])]),
    )
    .execute();
  const ids = rows
    .filter(
      ({ name }) => name !== AGED && (types === undefined || matchesType(types, name.slice(REMOVED.length))),
    )
    .map(({ until }) => until);
  return { upTo: ids.toSorted().at(-1) ?? '', isComplete: rows.some(({ name }) => name === AGED) };
}

/** No id of an event that was recorded at this time or later is smaller. */
function prefixOf(ms: number): string {
  const hex = Math.floor(ms).toString(16).padStart(HEX_OF_TIME, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

type Waiting = WebhookFilterRow & {
  readonly id: string;
  readonly cursor: string;
  readonly is_active: number;
};

async function waitingFor(db: Kysely<Tables>, upTo: string): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    select id, events, app_ids, is_active, cursor from webhook
    join webhook_delivery on webhook_delivery.webhook_id = webhook.id
    where cursor < ${upTo}`.execute(db);
  return rows;
}

async function giveUpTo(db: Kysely<Tables>, upTo: string, now: string): Promise<void> {
  for (const row of await waitingFor(db, upTo)) {
    if (row.is_active === 1) await giveUp(db, row, filterOf(row), upTo, now);
    await moveOn(db, row.id, upTo);
  }
}

/** Events of other types stay, and so does the place of a webhook that waits for one of them. */
async function giveUpType(
  db: Kysely<Tables>,
  type: EventRow['type'],
  upTo: string,
  now: string,
): Promise<void> {
  for (const row of await waitingFor(db, upTo)) {
    const filter = filterOf(row);
    if (row.is_active === 0 || !matchesType(filter.types ?? ['*'], type)) continue;
    const [next] = await eventsAfter(db, row.cursor, 1, filter, upTo);
    await giveUp(db, row, { ...filter, types: [type] }, upTo, now);
    // The candidate so far is among the removed events.
    if (next?.type === type) await moveOn(db, row.id, next.id);
  }
}

async function giveUp(
  db: Kysely<Tables>,
  { id, cursor }: Waiting,
  filter: EventFilter,
  upTo: string,
  now: string,
): Promise<void> {
  for (const event of await eventsAfter(db, cursor, TRIMMED_AT_ONCE, filter, upTo))
    await putDeadLetter(db, id, { event, tries: 0, error: TOO_OLD, failed_at: now }, DEAD_LETTERS_MAX);
}

async function moveOn(db: Kysely<Tables>, webhookId: string, cursor: string): Promise<void> {
  await db
    .updateTable('webhook_delivery')
    .set({ cursor, tries: 0 })
    .where('webhook_id', '=', webhookId)
    .execute();
}
