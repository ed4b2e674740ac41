/**
 * Webhooks and their dead letters in any SQL database, as part of the reads and writes of records. Seals the secrets
 * and the URLs.
 */
import { sql, type Kysely } from 'kysely';
import type { GatewayEvent } from '../../../model/events/events.ts';
import { isMaskedUrl } from '../../../model/events/webhook-url.ts';
import type { DeadLetter, StoredWebhook } from '../../../model/events/webhook.ts';
import type { EventFilter } from '../../event-store.ts';
import type { ConfigReader, ConfigWriter } from '../../repository.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import type { DeadLetterRow, Tables, WebhookRow } from '../kysely-tables.ts';
import { countRows, toPage, window } from '../page-window.ts';
import { newestId } from './event-rows.ts';
import { openUrl, sealUrl } from './sealed-url.ts';

export function webhookReads(db: Kysely<Tables>, box: SecretBox) {
  return {
    listWebhooks: (page) => {
      const { after, count } = window(page);
      const isNewestFirst = page.order === 'newest_first';
      let query = db
        .selectFrom('webhook')
        .selectAll()
        .orderBy('id', isNewestFirst ? 'desc' : 'asc');
      if (!isNewestFirst || page.after !== undefined)
        query = query.where('id', isNewestFirst ? '<' : '>', after);
      const rows = query.limit(count).execute();
      return toPage(page, rows, countRows(db, 'webhook'), (row) => toWebhook(row, box));
    },
    findWebhook: async (id) => {
      const row = await db.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toWebhook(row, box);
    },
    countWebhooks: () => countRows(db, 'webhook'),
    listDeadLetters: (webhookId, page) => {
      const { after, count } = window(page);
      const rows = db
        .selectFrom('webhook_dead_letter')
        .selectAll()
        .where('webhook_id', '=', webhookId)
        .where('event_id', '>', after)
        .orderBy('event_id')
        .limit(count)
        .execute();
      const total = countRows(db, 'webhook_dead_letter', 'webhook_id', webhookId);
      return toPage(page, rows, total, (row) => ({ id: row.event_id, ...toDeadLetter(row) }));
    },
  } satisfies Partial<ConfigReader>;
}

export function webhookWrites(db: Kysely<Tables>, box: SecretBox) {
  return {
    insertWebhook: async (webhook) => {
      await db.insertInto('webhook').values(toRow(webhook, box)).execute();
      await db
        .insertInto('webhook_delivery')
        .values({ ...NEW_DELIVERY, webhook_id: webhook.id, cursor: await newestId(db) })
        .execute();
    },
    updateWebhook: async (webhook) => {
      const { id } = webhook;
      await db.updateTable('webhook').set(changedFields(webhook, box)).where('id', '=', id).execute();
      // The change may have removed the cause of the failure.
      await db.updateTable('webhook_delivery').set({ next_try_ms: 0 }).where('webhook_id', '=', id).execute();
    },
    deleteWebhook: async (id) => {
      const result = await db.deleteFrom('webhook').where('id', '=', id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    wantDeadLetters: async (webhookId, eventId) => {
      await db
        .updateTable('webhook_delivery')
        .set({ next_try_ms: 0 })
        .where('webhook_id', '=', webhookId)
        .execute();
      let letters = db
        .updateTable('webhook_dead_letter')
        .set({ is_wanted: 1, tries: 0 })
        .where('webhook_id', '=', webhookId);
      if (eventId !== undefined) letters = letters.where('event_id', '=', eventId);
      const result = await letters.executeTakeFirst();
      return Number(result.numUpdatedRows);
    },
    deleteDeadLetters: async (webhookId, eventId) => {
      let letters = db.deleteFrom('webhook_dead_letter').where('webhook_id', '=', webhookId);
      if (eventId !== undefined) letters = letters.where('event_id', '=', eventId);
      const result = await letters.executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  } satisfies Partial<ConfigWriter>;
}

const NEW_DELIVERY: Omit<Tables['webhook_delivery'], 'webhook_id' | 'cursor'> = {
  failures: 0,
  tries: 0,
  next_try_ms: 0,
  last_error: null,
  failed_at_ms: null,
  delivered_at_ms: null,
  delivered: 0,
  lease_holder: null,
  lease_until_ms: 0,
};

export type WebhookFilterRow = Pick<WebhookRow, 'events' | 'app_ids'>;

/** The filter for the events of a webhook. */
export function filterOf({ events, app_ids }: WebhookFilterRow): EventFilter {
  return { types: JSON.parse(events) as string[], app_ids: JSON.parse(app_ids) as string[] };
}

/** A secret of one webhook cannot be moved to another. */
export const webhookPlace = (id: string): string => `webhook ${id}`;

function toRow(webhook: StoredWebhook, box: SecretBox): WebhookRow {
  const { id, secret, previous_secret: previous } = webhook;
  return {
    ...webhook,
    url: sealUrl(webhook.url, id, box),
    events: JSON.stringify(webhook.events),
    app_ids: JSON.stringify(webhook.app_ids),
    is_active: webhook.is_active ? 1 : 0,
    secret: box.seal(secret ?? '', webhookPlace(id)),
    previous_secret: previous === null ? null : box.seal(previous, webhookPlace(id)),
  };
}

/** Without what could not be decrypted: the stored value stays, since its key may come back. */
function changedFields(webhook: StoredWebhook, box: SecretBox): Partial<WebhookRow> {
  const { id: _id, url, secret, previous_secret: previous, ...others } = toRow(webhook, box);
  const hadPrevious = webhook.previous_secret_expires_at !== null;
  return {
    ...others,
    ...(!isMaskedUrl(webhook.url) && { url }),
    ...(webhook.secret !== null && { secret }),
    ...(!(webhook.previous_secret === null && hadPrevious) && { previous_secret: previous }),
  };
}

export function toWebhook(row: WebhookRow, box: SecretBox): StoredWebhook {
  const { secret, previous_secret: previous } = row;
  return {
    ...row,
    url: openUrl(row.url, row.id, box),
    events: JSON.parse(row.events) as string[],
    app_ids: JSON.parse(row.app_ids) as string[],
    is_active: row.is_active === 1,
    secret: opened(secret, row.id, box),
    previous_secret: previous === null ? null : opened(previous, row.id, box),
  };
}

/** null if the key cannot decrypt it. */
function opened(sealed: string, id: string, box: SecretBox): string | null {
  const found = box.open(sealed, webhookPlace(id));
  return 'text' in found && found.text !== '' ? found.text : null;
}

export function toDeadLetter({ event, tries, error, failed_at, is_wanted }: DeadLetterRow): DeadLetter {
  return {
    event: JSON.parse(event) as GatewayEvent,
    tries,
    error,
    failed_at,
    is_wanted: is_wanted === 1,
  };
}

/**
 * Adds a dead letter, or counts another failure of an existing one; beyond `max` the oldest of the webhook are removed.
 */
export async function putDeadLetter(
  db: Kysely<Tables>,
  webhookId: string,
  { event, ...letter }: Omit<DeadLetter, 'is_wanted'>,
  max: number,
): Promise<void> {
  await db
    .insertInto('webhook_dead_letter')
    .values({
      ...letter,
      webhook_id: webhookId,
      event_id: event.id,
      event: JSON.stringify(event),
      is_wanted: 0,
    })
    .onConflict((conflict) =>
      conflict.columns(['webhook_id', 'event_id']).doUpdateSet({ ...letter, is_wanted: 0 }),
    )
    .execute();
  const { rows } = await sql<{ event_id: string }>`
    select event_id from webhook_dead_letter where webhook_id = ${webhookId}
    order by event_id desc limit 1 offset ${max}`.execute(db);
  const [beyond] = rows;
  if (beyond === undefined) return;
  await db
    .deleteFrom('webhook_dead_letter')
    .where('webhook_id', '=', webhookId)
    .where('event_id', '<=', beyond.event_id)
    .execute();
}
