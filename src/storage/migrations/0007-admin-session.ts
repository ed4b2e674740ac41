/** Browsers that are signed in to the management API: hashes of their cookies. */
import type { Migration } from './migration.ts';

export const adminSession: Migration = {
  name: '0007-admin-session',
  statements: [
    `create table admin_session (
      id text not null primary key,
      value_hash text not null,
      kind text not null,
      actor_id text not null,
      actor_name text not null,
      admin_token_id text references admin_token (id) on delete cascade,
      proof text,
      groups text,
      address text not null,
      user_agent text,
      created_at text not null,
      last_used_at text not null,
      expires_at text not null
    )`,
    `create unique index admin_session_value_hash_unique on admin_session (value_hash)`,
    `create index admin_session_actor_id_id on admin_session (actor_id, id)`,
    `create index admin_session_admin_token_id on admin_session (admin_token_id)
      where admin_token_id is not null`,
    `create index admin_session_expires_at on admin_session (expires_at)`,
    `create index admin_session_last_used_at on admin_session (last_used_at)`,
  ],
};
