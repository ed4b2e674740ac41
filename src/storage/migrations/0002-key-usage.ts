/** Counts of requests per API key and UTC day, and look-up of a key by its value before the last rotation. */
import type { Migration } from './migration.ts';

export const keyUsage: Migration = {
  name: '0002-key-usage',
  statements: [
    `create table key_usage (
      key_id text not null references api_key (id) on delete cascade,
      date text not null,
      allowed bigint not null,
      limited bigint not null,
      denied bigint not null,
      primary key (key_id, date)
    )`,
    // Serves the deletion of old days.
    `create index key_usage_date_key_id on key_usage (date, key_id)`,
    `create index api_key_previous_token_hash on api_key (previous_token_hash)
      where previous_token_hash is not null`,
  ],
};
