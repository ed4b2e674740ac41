/** The first schema: the configuration, its keys, the admin tokens, the audit trail and the config version. */
import type { Migration } from './migration.ts';

const parent = (column: string, table: string): string =>
  `${column} text not null references ${table} (id) on delete cascade`;

export const initial: Migration = {
  name: '0001-initial',
  statements: [
    `create table config_state (
      id integer not null primary key check (id = 1),
      config_version bigint not null
    )`,
    `insert into config_state (id, config_version) values (1, 0)`,
    `create table app (
      id text not null primary key,
      name text not null,
      slug text not null,
      gateway_path text not null,
      routing_mode text not null,
      default_policy text,
      description text,
      labels text not null,
      allow_encoded_slashes integer not null,
      created_at text not null,
      updated_at text not null
    )`,
    `create unique index app_slug_unique on app (slug)`,
    `create unique index app_gateway_path_unique on app (gateway_path)`,
    `create table version (
      id text not null primary key,
      ${parent('app_id', 'app')},
      version text not null,
      gateway_path text not null,
      gateway_path_is_default integer not null,
      status text not null,
      sunset_at text,
      deprecated_at text,
      created_at text not null,
      updated_at text not null
    )`,
    `create unique index version_app_id_version_unique on version (app_id, version)`,
    `create unique index version_gateway_path_unique on version (gateway_path)`,
    // The indexes on (parent, id) serve list pages, which are ordered by id.
    `create index version_app_id_id on version (app_id, id)`,
    `create table revision (
      id text not null primary key,
      ${parent('version_id', 'version')},
      revision text not null,
      backend_scheme text not null,
      backend_host text not null,
      backend_port integer not null,
      backend_base_path text not null,
      strip_gateway_path integer not null,
      preserve_host integer not null,
      traffic_weight integer not null,
      health_check_path text,
      default_policy text,
      is_current integer not null,
      backend_tls text,
      circuit_breaker text,
      created_at text not null,
      updated_at text not null
    )`,
    `create unique index revision_version_id_revision_unique on revision (version_id, revision)`,
    `create index revision_version_id_id on revision (version_id, id)`,
    `create table endpoint (
      id text not null primary key,
      ${parent('revision_id', 'revision')},
      method text not null,
      path text not null,
      backend_path text,
      policy_override text,
      is_active integer not null,
      created_at text not null,
      updated_at text not null
    )`,
    `create unique index endpoint_revision_id_method_path_unique on endpoint (revision_id, method, path)`,
    `create index endpoint_revision_id_id on endpoint (revision_id, id)`,
    `create table api_key (
      id text not null primary key,
      ${parent('app_id', 'app')},
      name text not null,
      scopes text not null,
      token_prefix text not null,
      is_active integer not null,
      expires_at text,
      last_used_at text,
      rate_limit text,
      token_hash text not null,
      previous_token_hash text,
      previous_expires_at text,
      created_at text not null,
      updated_at text not null
    )`,
    `create unique index api_key_token_hash_unique on api_key (token_hash)`,
    `create index api_key_app_id_id on api_key (app_id, id)`,
    `create table admin_token (
      id text not null primary key,
      name text not null,
      role text not null,
      token_prefix text not null,
      expires_at text,
      last_used_at text,
      token_hash text not null,
      created_at text not null,
      updated_at text not null
    )`,
    `create unique index admin_token_token_hash_unique on admin_token (token_hash)`,
    `create table audit_entry (
      id text not null primary key,
      at text not null,
      actor text not null,
      action text not null,
      resource_type text not null,
      resource_id text not null,
      config_version bigint not null,
      change text
    )`,
  ],
};
