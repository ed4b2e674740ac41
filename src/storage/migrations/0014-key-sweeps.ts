/**
 * The end of the last sweeps for API keys that expire or are unused, and the index of keys that expire. The removal of
 * events also stores its marks in this table (trim-events.ts). The table keeps its name nevertheless: if one gateway
 * renamed it, gateways of the previous version would fail until they are upgraded.
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
