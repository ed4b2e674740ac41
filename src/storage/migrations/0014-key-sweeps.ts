/**
 * Up to when sweeps have looked for API keys that end or are not used, and the index of those that end. The removal of
 * events keeps its marks in this table, too (trim-events.ts). The table has its name nevertheless: beside a gateway
 * that renames it, one of the version before would fail until it is upgraded.
 */
import type { Migration } from './migration.ts';

export const keySweeps: Migration = {
  name: '0014-key-sweeps',
  statements: [
    `create table key_sweep (
      name text not null primary key,
      until text not null
    )`,
    `create index api_key_expires_at on api_key (expires_at, id) where expires_at is not null`,
  ],
};
