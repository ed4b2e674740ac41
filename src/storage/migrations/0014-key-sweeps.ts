/** Up to when sweeps have looked for API keys that end or are not used, and the index of those that end. */
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
