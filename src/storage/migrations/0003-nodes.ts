/**
 * Tables for several gateways on one database: a log of what each config version touched, so that a gateway that missed
 * some versions loads only those changes, and a row for each running gateway. A SQLite file has one gateway and no such
 * rows.
 */
import type { Migration } from './migration.ts';

export const nodes: Migration = {
  name: '0003-nodes',
  statements: [
    // `change_id` distinguishes two histories that reached the same version. `touched` is null if it was too large.
    `create table config_change (
      config_version bigint not null primary key,
      change_id text not null,
      touched text
    )`,
    // Times come from the database, in Unix milliseconds: the clocks of gateways may differ.
    `create table node (
      id text not null primary key,
      name text not null,
      program_version text not null,
      secret_key_id text,
      started_at text not null,
      config_version bigint not null,
      timeout_ms bigint not null,
      last_seen_ms bigint not null
    )`,
  ],
};
