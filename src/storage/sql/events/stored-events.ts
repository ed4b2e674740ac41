/** The store of events over any SQL database: each operation is a separate transaction. */
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../../lib/clock.ts';
import type { EventBatch, EventFilter, EventStore } from '../../event-store.ts';
import type { Repository } from '../../repository.ts';
import type { Tables } from '../kysely-tables.ts';
import { toPage } from '../page-window.ts';
import { countEvents, eventsAfter, insertEvents, listRows, newestId, toEvent } from './event-rows.ts';
import { readDatabaseNow } from './database-clock.ts';
import { lastRemoved, nextTrimming, trimEvents } from './trim-events.ts';

type InTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>;

export interface EventRowsDeps {
  readonly driver: Repository['driver'];
  readonly inRead: InTransaction;
  readonly inWrite: InTransaction;
  readonly clock: Clock;
  /** Called after a transaction that stored events. */
  readonly onAppended: () => void;
}

/** Maximum number of events that are counted for the total of a list; there may be more. */
const COUNTED_MAX = 10_000;

export function createEventStore({ driver, inRead, inWrite, clock, onAppended }: EventRowsDeps): EventStore {
  return {
    async append(events) {
      if (events.length === 0) return [];
      const stored = await inWrite((db) => insertEvents(db, driver, events, clock.nowMs()));
      if (stored.length > 0) onAppended();
      return stored;
    },
    after: (id, limit, filter) => inRead((db) => batchAfter(db, id, limit, filter)),
    follow: (id, limit, filter) =>
      inRead(async (db) => ({
        ...(await batchAfter(db, id, limit, filter)),
        removedUpTo: (await lastRemoved(db, filter)).upTo,
      })),
    list: (page, filter) =>
      inRead(async (db) => {
        const total = countEvents(db, filter, COUNTED_MAX);
        return toPage(page, listRows(db, page, filter), total, toEvent);
      }),
    bounds: () =>
      inRead(async (db) => {
        const oldest = await sql<{
          id: string;
        }>`select id from event where id > ${''} order by id limit 1`.execute(db);
        return { oldest: oldest.rows[0]?.id ?? '', newest: await newestId(db) };
      }),
    removed: (filter) => inRead((db) => lastRemoved(db, filter)),
    trim: async (bounds) => {
      const trimming = await inRead(async (db) =>
        nextTrimming(db, bounds, await readDatabaseNow(db, driver)),
      );
      if (trimming !== undefined) await inWrite((db) => trimEvents(db, trimming));
      return trimming?.isLast ?? true;
    },
  };
}

async function batchAfter(
  db: Kysely<Tables>,
  id: string,
  limit: number,
  filter: EventFilter,
): Promise<EventBatch> {
  const events = await eventsAfter(db, id, limit, filter);
  const last = events.at(-1)?.id ?? id;
  const newest = events.length === limit ? last : await newestId(db);
  return { events, reached: newest > last ? newest : last };
}
