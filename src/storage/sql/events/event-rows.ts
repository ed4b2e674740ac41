/**
 * Events in any SQL database. Ids are assigned inside the transaction that stores the events and has the write lock of
 * the database. Each id is greater than the previous one, so readers see events in the order of their ids.
 */
import { CompiledQuery, sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import { uuidv7 } from '../../../lib/ids.ts';
import { EVENT_ROWS, matchesType, type EventType, type GatewayEvent } from '../../../model/events/events.ts';
import type { EventFilter, NewEvent } from '../../event-store.ts';
import type { PageRequest, Repository } from '../../repository.ts';
import type { EventRow, Tables } from '../kysely-tables.ts';
import { window } from '../page-window.ts';

/** Greater than every id: ids contain only hexadecimal digits. */
const ABOVE_ALL_IDS = '~';
/**
 * Maximum number of apps in a filter that are read one by one, because a statement can have only a limited number of
 * parts.
 */
const APART_MAX = 100;
/** The hexadecimal digits of the time in a UUIDv7. */
const TIME_DIGITS = 12;

const COLUMNS = [
  'id',
  'type',
  'at',
  'node',
  'app_id',
  'subject_kind',
  'subject_id',
  'subject_name',
  'data',
  'dedupe_key',
] as const satisfies readonly (keyof EventRow)[];

/** Without a query builder, which would cost more than the query, because every write records an event. */
const insertWith = (parameter: (index: number) => string): string =>
  `insert into event (${COLUMNS.join(', ')}) values (${COLUMNS.map((_, index) => parameter(index + 1)).join(', ')}) on conflict (dedupe_key) do nothing`;
const INSERTS: Readonly<Record<Repository['driver'], string>> = {
  sqlite: insertWith(() => '?'),
  postgres: insertWith((index) => `$${index}`),
};
const NEWEST = "select id from event where id > '' order by id desc limit 1";

/** Stores events in the transaction of `db`, except those whose key is already stored. */
export async function insertEvents(
  db: Kysely<Tables>,
  driver: Repository['driver'],
  events: readonly NewEvent[],
  nowMs: number,
): Promise<GatewayEvent[]> {
  let last = await newestId(db);
  const stored: GatewayEvent[] = [];
  for (const { dedupe_key, ...event } of events) {
    const id = idAfter(last, nowMs);
    const row = { ...toRow({ ...event, id }), dedupe_key: dedupe_key ?? null };
    const cells = COLUMNS.map((column) => row[column]);
    const { numAffectedRows } = await db.executeQuery(CompiledQuery.raw(INSERTS[driver], cells));
    if (numAffectedRows === 0n) continue;
    stored.push({ ...event, id });
    last = id;
  }
  return stored;
}

/** Clocks of gateways differ, and may step back: the time in the id is then later than the time of the event. */
export function idAfter(last: string, nowMs: number): string {
  const id = uuidv7(nowMs);
  if (id > last) return id;
  // The generator is not used for this, because other ids of this process would then also have a later time.
  const time = (msOf(last) + 1).toString(16).padStart(TIME_DIGITS, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}`;
}

const msOf = (id: string): number => parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** The id of the newest event; '' when there is none. */
export async function newestId(db: Kysely<Tables>): Promise<string> {
  const { rows } = await db.executeQuery<{ id: string }>(CompiledQuery.raw(NEWEST));
  return rows[0]?.id ?? '';
}

/** @param upTo the last id to read: without it, a filter without matches would read all later events */
export async function eventsAfter(
  db: Kysely<Tables>,
  id: string,
  limit: number,
  filter: EventFilter,
  upTo = ABOVE_ALL_IDS,
): Promise<GatewayEvent[]> {
  const rows = await firstRows(db, filter, sql`id > ${id} and id <= ${upTo}`, sql`asc`, limit);
  return rows.map(toEvent);
}

/**
 * The first rows in the order of their ids. Each way to match is read in that order with a separate index, and ends at
 * the limit: otherwise the database would collect and sort every match.
 */
async function firstRows(
  db: Kysely<Tables>,
  filter: EventFilter,
  range: RawBuilder<unknown>,
  direction: RawBuilder<unknown>,
  limit: number,
): Promise<EventRow[]> {
  const end = sql`order by id ${direction} limit ${limit}`;
  const { app_ids: appIds = [] } = filter;
  const matches =
    appIds.length > APART_MAX
      ? [sql`select * from event where ${range} and ${conditionOf(filter)}`]
      : alternatives(filter, true).map(
          (conditions) =>
            sql`select * from (select * from event where ${range} and ${sql.join(conditions, sql` and `)} ${end}) as found`,
        );
  const { rows } = await sql<EventRow>`
    select * from (${sql.join(matches, sql` union all `)}) as found ${end}`.execute(db);
  return rows;
}

/**
 * Counts up to `max` events after an id. Without times in the filter it reads only indexes. The events are not ordered,
 * and the two ways in which a filter by app matches are counted separately; otherwise the database would first collect
 * and sort every match.
 */
export async function countEvents(
  db: Kysely<Tables>,
  filter: EventFilter,
  max: number,
  after = '',
): Promise<number> {
  const matches = alternatives(filter).map(
    (conditions) => sql`select id from event where id > ${after} and ${sql.join(conditions, sql` and `)}`,
  );
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from (${sql.join(matches, sql` union all `)} limit ${max}) as found`.execute(db);
  return rows[0]?.n ?? 0;
}

export async function listRows(
  db: Kysely<Tables>,
  page: PageRequest,
  filter: EventFilter,
): Promise<EventRow[]> {
  const { count } = window(page);
  const isNewestFirst = page.order === 'newest_first';
  const range = isNewestFirst
    ? sql<SqlBool>`id < ${page.after ?? ABOVE_ALL_IDS}`
    : sql<SqlBool>`id > ${page.after ?? ''}`;
  return firstRows(db, filter, range, isNewestFirst ? sql`desc` : sql`asc`, count);
}

/** A write that changed several apps belongs to no single app: a filter by app includes it. */
const TYPES_OF_ANY_APP: readonly EventType[] = ['config.changed'];

export function conditionOf(filter: EventFilter): RawBuilder<SqlBool> {
  const any = alternatives(filter).map((conditions) => sql`(${sql.join(conditions, sql` and `)})`);
  return sql<SqlBool>`(${sql.join(any, sql` or `)})`;
}

/** An event matches if it meets all conditions of one alternative; no event meets two alternatives. */
function alternatives(
  { types, app_ids, since, until }: EventFilter,
  isEachAppApart = false,
): RawBuilder<unknown>[][] {
  const always: RawBuilder<unknown>[] = [sql`id > ${''}`];
  if (since !== undefined) always.push(sql`at >= ${since}`);
  if (until !== undefined) always.push(sql`at < ${until}`);
  const wanted =
    types === undefined || types.includes('*')
      ? undefined
      : EVENT_ROWS.map(({ type }) => type).filter((type) => matchesType(types, type));
  const ofTypes = (chosen: readonly EventType[], type = sql`type`): RawBuilder<unknown> =>
    chosen.length === 0 ? sql`1 = 0` : sql`${type} in (${sql.join([...chosen])})`;
  if (app_ids === undefined || app_ids.length === 0)
    return [wanted === undefined ? always : [...always, ofTypes(wanted)]];
  // Not as a column: with a single type, SQLite would read the events of that type of all apps.
  const byType = wanted === undefined ? [] : [ofTypes(wanted, sql`coalesce(type, ${''})`)];
  const apps = isEachAppApart ? [...new Set(app_ids)].map((id) => [id]) : [app_ids];
  const ofApps = apps.map((ids) => [sql`app_id in (${sql.join([...ids])})`, ...byType, ...always]);
  const ofAny = TYPES_OF_ANY_APP.filter((type) => wanted?.includes(type) ?? true);
  return ofAny.length === 0 ? ofApps : [...ofApps, [sql`app_id is null`, ofTypes(ofAny), ...always]];
}

function toRow({ subject, data, app_id, ...event }: GatewayEvent): Omit<EventRow, 'dedupe_key'> {
  return {
    ...event,
    app_id: app_id ?? null,
    subject_kind: subject.kind,
    subject_id: subject.id,
    subject_name: subject.name,
    data: JSON.stringify(data),
  };
}

export function toEvent(row: EventRow): GatewayEvent {
  return {
    id: row.id,
    type: row.type as EventType,
    at: row.at,
    node: row.node,
    ...(row.app_id !== null && { app_id: row.app_id }),
    subject: { kind: row.subject_kind, id: row.subject_id, name: row.subject_name },
    data: JSON.parse(row.data) as GatewayEvent['data'],
  };
}
