/**
 * Events, and the webhooks that they are sent to. A webhook has no queue: it stores the last finished event, so waiting
 * events need only their own row. Secrets are sealed.
 */
import type { Migration } from './migration.ts';

export const events: Migration = {
  name: '0013-events',
  statements: [
    `create table event (
      id text not null primary key,
      type text not null,
      at text not null,
      node text,
      app_id text,
      subject_kind text not null,
      subject_id text not null,
      subject_name text not null,
      data text not null,
      dedupe_key text
    )`,
    `create unique index event_dedupe_key_unique on event (dedupe_key)`,
    `create index event_type_id on event (type, id)`,
    `create index event_app_id_id on event (app_id, id)`,
    `create table webhook (
      id text not null primary key,
      name text not null,
      url text not null,
      events text not null,
      app_ids text not null,
      is_active integer not null,
      disabled_reason text,
      secret text not null,
      previous_secret text,
      previous_secret_expires_at text,
      created_at text not null,
      updated_at text not null
    )`,
    `create table webhook_delivery (
      webhook_id text not null primary key references webhook (id) on delete cascade,
      cursor text not null,
      failures bigint not null,
      tries bigint not null,
      next_try_ms bigint not null,
      last_error text,
      failed_at_ms bigint,
      delivered_at_ms bigint,
      delivered bigint not null,
      lease_holder text,
      lease_until_ms bigint not null
    )`,
    `create table webhook_dead_letter (
      webhook_id text not null references webhook (id) on delete cascade,
      event_id text not null,
      event text not null,
      tries bigint not null,
      error text not null,
      failed_at text not null,
      is_wanted integer not null,
      primary key (webhook_id, event_id)
    )`,
    `create index webhook_dead_letter_wanted on webhook_dead_letter (webhook_id, event_id) where is_wanted = 1`,
  ],
};
