/** The history of the configuration: each config version, and the records that it changed. See sql/history/. */
import type { Migration } from './migration.ts';

export const configHistory: Migration = {
  name: '0006-config-history',
  statements: [
    `create table config_history (
      config_version bigint not null primary key,
      from_version bigint not null,
      at text not null,
      actor text not null,
      address text,
      request_id text,
      source text not null,
      git_commit text,
      action text not null,
      message text,
      changed_records bigint not null,
      bytes bigint not null,
      is_complete integer not null
    )`,
    // Without a foreign key: compaction deletes the rows of a version in pieces, after the version.
    `create table config_history_record (
      config_version bigint not null,
      position integer not null,
      type text not null,
      id text not null,
      app_id text not null,
      name text not null,
      parents text not null,
      before text,
      after text,
      primary key (config_version, position)
    )`,
    // Serves the history of one app.
    `create index config_history_record_app_id on config_history_record (app_id, config_version, position)`,
  ],
};
