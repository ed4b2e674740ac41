/** The progress of webhooks, their leases, and which gateway sends, in any SQL database. */
import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import type { DeliveryProgress } from '../../../model/events/webhook.ts';
import {
  DEAD_LETTERS_MAX,
  DeliveryLeaseLost,
  senderOf,
  WAITING_COUNTED_MAX,
  type DeliveryState,
  type DueWebhooks,
  type DeliveryStep,
  type DeliverySummary,
  type DeliveryStore,
} from '../../delivery-store.ts';
import type { Repository } from '../../repository.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { databaseNow, hasEnded, readDatabaseNow } from './database-clock.ts';
import type { DeliveryRow, Tables, WebhookRow } from '../kysely-tables.ts';
import { countRows } from '../page-window.ts';
import { countEvents, newestId } from './event-rows.ts';
import { filterOf, putDeadLetter, toDeadLetter, toWebhook, type WebhookFilterRow } from './webhook-rows.ts';

type InTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>;
type Time = RawBuilder<number>;

const LEASE_UNTIL = sql<number>`lease_until_ms`;
/** A failure that is further ahead was recorded while the clock was. */
const AHEAD_MS_MAX = 5_000;

export interface DeliveryRowsDeps {
  readonly driver: Repository['driver'];
  readonly box: SecretBox;
  readonly inRead: InTransaction;
  readonly inWrite: InTransaction;
}

export function createDeliveryStore({ driver, box, inRead, inWrite }: DeliveryRowsDeps): DeliveryStore {
  const now = databaseNow(driver);
  return {
    nowMs: () => inRead((db) => readDatabaseNow(db, driver)),
    due: () => inRead((db) => dueWebhooks(db, now)),
    claim: (webhookId, holder, ttlMs) =>
      inWrite(async (db) => {
        const isFree = sql<SqlBool>`(lease_holder is null or lease_holder = ${holder} or ${hasEnded(LEASE_UNTIL, now)})`;
        const delivery = await db
          .updateTable('webhook_delivery')
          .set({ lease_holder: holder, lease_until_ms: sql<number>`${now} + ${ttlMs}` })
          .where('webhook_id', '=', webhookId)
          .where(isFree)
          .returningAll()
          .returning(now.as('now_ms'))
          .executeTakeFirst();
        if (delivery === undefined) return undefined;
        const row = await db
          .selectFrom('webhook')
          .selectAll()
          .where('id', '=', webhookId)
          .executeTakeFirstOrThrow();
        if (row.is_active === 0) {
          await release(db, webhookId);
          return undefined;
        }
        const wanted = await wantedRows(db, webhookId, 1);
        return {
          webhook: toWebhook(row, box),
          progress: toProgress(delivery),
          hasWanted: wanted.length > 0,
          nowMs: delivery.now_ms,
        };
      }),
    renew: (webhookId, holder, ttlMs) =>
      inWrite(async (db) => {
        await changeHeld(db, webhookId, holder, now, { lease_until_ms: sql`${now} + ${ttlMs}` });
        const found = db.selectFrom('webhook').select('updated_at').where('id', '=', webhookId);
        return (await found.executeTakeFirstOrThrow()).updated_at;
      }),
    save: (webhookId, holder, step) => inWrite((db) => save(db, webhookId, holder, step, now)),
    wanted: (webhookId, limit) =>
      inRead(async (db) => (await wantedRows(db, webhookId, limit)).map(toDeadLetter)),
    states: () => inRead((db) => readStates(db, box, now)),
    summary: () => inRead(readSummary),
  };
}

async function dueWebhooks(db: Kysely<Tables>, now: Time): Promise<DueWebhooks> {
  const active = await countRows(db, 'webhook', undefined, undefined, sql<SqlBool>`is_active = 1`);
  if (active === 0) return { due: [], active };
  const newest = await newestId(db);
  const { rows } = await sql<DueRow>`
    select * from (
      select webhook.id, webhook.events, webhook.app_ids, cursor,
        case when exists (
          select 1 from webhook_dead_letter as letter
          where letter.webhook_id = webhook.id and letter.is_wanted = 1
        ) then 1 else 0 end as wanted
      from webhook join webhook_delivery on webhook_delivery.webhook_id = webhook.id
      where webhook.is_active = 1
        and (next_try_ms <= ${now} or failed_at_ms > ${now} + ${AHEAD_MS_MAX})
        and (lease_holder is null or ${hasEnded(LEASE_UNTIL, now)})
    ) as found
    where cursor < ${newest} or wanted > 0
    order by id`.execute(db);
  const due = rows.map((row) => ({
    id: row.id,
    cursor: row.cursor,
    filter: filterOf(row),
    hasWanted: row.wanted > 0,
  }));
  return { due, active };
}

type DueRow = WebhookFilterRow & { readonly id: string; readonly cursor: string; readonly wanted: number };

type Change = Readonly<Record<string, unknown>>;

/** @throws DeliveryLeaseLost */
async function changeHeld(
  db: Kysely<Tables>,
  webhookId: string,
  holder: string,
  now: Time,
  change: Change,
): Promise<void> {
  const result = await db
    .updateTable('webhook_delivery')
    // The values are those of the columns, or expressions of SQL.
    .set(change as Partial<DeliveryRow>)
    .where('webhook_id', '=', webhookId)
    .where('lease_holder', '=', holder)
    .where(sql<SqlBool>`lease_until_ms > ${now}`)
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) throw new DeliveryLeaseLost();
}

async function save(
  db: Kysely<Tables>,
  webhookId: string,
  holder: string,
  { progress, delivered = 0, waitMs, givenUp, arrived = [], release: gives }: DeliveryStep,
  now: Time,
): Promise<void> {
  await changeHeld(db, webhookId, holder, now, {
    ...progress,
    delivered: sql`delivered + ${delivered}`,
    ...(delivered > 0 && { delivered_at_ms: now }),
    ...(waitMs !== undefined && { next_try_ms: sql`${now} + ${waitMs}` }),
    ...(gives && { lease_holder: null, lease_until_ms: 0 }),
  });
  if (givenUp !== undefined) await putDeadLetter(db, webhookId, givenUp, DEAD_LETTERS_MAX);
  if (arrived.length === 0) return;
  await db
    .deleteFrom('webhook_dead_letter')
    .where('webhook_id', '=', webhookId)
    .where('event_id', 'in', [...arrived])
    .execute();
}

async function release(db: Kysely<Tables>, webhookId: string): Promise<void> {
  await db
    .updateTable('webhook_delivery')
    .set({ lease_holder: null, lease_until_ms: 0 })
    .where('webhook_id', '=', webhookId)
    .execute();
}

function wantedRows(
  db: Kysely<Tables>,
  webhookId: string,
  limit: number,
): Promise<Tables['webhook_dead_letter'][]> {
  return db
    .selectFrom('webhook_dead_letter')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .where('is_wanted', '=', sql<number>`1`)
    .orderBy('event_id')
    .limit(limit)
    .execute();
}

async function readStates(db: Kysely<Tables>, box: SecretBox, now: Time): Promise<DeliveryState[]> {
  const { rows } = await sql<WebhookRow & DeliveryRow & { holder: string | null }>`
    select webhook.*, webhook_delivery.*,
      case when not ${hasEnded(LEASE_UNTIL, now)} then lease_holder end as holder
    from webhook join webhook_delivery on webhook_delivery.webhook_id = webhook.id
    order by webhook.id`.execute(db);
  const states: DeliveryState[] = [];
  for (const row of rows) {
    const { secret: _secret, previous_secret: _previous, ...webhook } = toWebhook(webhookOf(row), box);
    states.push({
      webhook,
      progress: toProgress(row),
      waiting: await countEvents(db, filterOf(row), WAITING_COUNTED_MAX, row.cursor),
      deadLetters: await countRows(db, 'webhook_dead_letter', 'webhook_id', row.id),
      sender: row.holder === null ? null : senderOf(row.holder),
    });
  }
  return states;
}

async function readSummary(db: Kysely<Tables>): Promise<DeliverySummary> {
  const { rows } = await sql<{ state: 'ok' | 'failing' | 'disabled'; n: number }>`
    select case when is_active = 0 then 'disabled' when failures > 0 then 'failing' else 'ok' end as state,
      count(*) as n
    from webhook join webhook_delivery on webhook_delivery.webhook_id = webhook.id
    group by 1`.execute(db);
  const counts = Object.fromEntries(rows.map(({ state, n }) => [state, n]));
  const deadLetters = rows.length === 0 ? 0 : await countRows(db, 'webhook_dead_letter');
  return { ok: 0, failing: 0, disabled: 0, ...counts, deadLetters };
}

function webhookOf(row: WebhookRow): WebhookRow {
  const { id, name, url, events, app_ids, is_active, disabled_reason, secret, previous_secret } = row;
  const { previous_secret_expires_at, created_at, updated_at } = row;
  const filter = { events, app_ids, is_active, disabled_reason };
  return {
    id,
    name,
    url,
    ...filter,
    secret,
    previous_secret,
    previous_secret_expires_at,
    created_at,
    updated_at,
  };
}

function toProgress(row: DeliveryRow): DeliveryProgress {
  const { cursor, failures, tries, next_try_ms, last_error, failed_at_ms, delivered_at_ms, delivered } = row;
  return { cursor, failures, tries, next_try_ms, last_error, failed_at_ms, delivered_at_ms, delivered };
}
