/**
 * Certificates by ACME: the account, each name with its certificate and the order under way, the answers to challenges,
 * and the lease of the gateway that orders. Private keys are sealed.
 */
import type { Migration } from './migration.ts';

export const acme: Migration = {
  name: '0012-acme',
  statements: [
    // One row. `revision` grows with each change that other gateways must see.
    `create table acme_state (
      id integer not null primary key,
      lease_holder text,
      lease_until_ms bigint not null,
      revision bigint not null,
      paused_until_ms bigint not null,
      paused_reason text
    )`,
    `insert into acme_state (id, lease_until_ms, revision, paused_until_ms) values (1, 0, 0, 0)`,
    `create table acme_account (
      directory text not null primary key,
      private_key text not null,
      url text,
      created_at text not null
    )`,
    // The order under way is in the row of its name, so there is never more than one.
    `create table acme_certificate (
      name text not null primary key,
      revision bigint not null,
      directory text,
      chain text,
      private_key text,
      valid_from_ms bigint,
      expires_at_ms bigint,
      renew_at_ms bigint,
      window_check_ms bigint,
      failures bigint not null,
      last_error text,
      failed_at_ms bigint,
      next_try_ms bigint not null,
      order_directory text,
      order_key text,
      order_url text,
      order_started_ms bigint
    )`,
    `create index acme_certificate_revision on acme_certificate (revision)`,
    `create table acme_challenge (
      token text not null primary key,
      name text not null,
      kind text not null,
      key_authorization text not null
    )`,
    `create index acme_challenge_name on acme_challenge (name)`,
    // Orders that were begun, for the bound of an hour.
    `create table acme_order (
      id text not null primary key,
      name text not null,
      started_ms bigint not null
    )`,
    `create index acme_order_started_ms on acme_order (started_ms)`,
  ],
};
