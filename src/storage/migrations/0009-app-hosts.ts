/**
 * Hosts of apps. Several apps may have the same path, as long as they have no host in common: the unique indexes of
 * paths apply to apps without hosts, and within an app. `app_host` finds the apps of a host; it repeats the hosts of
 * the apps, with the labels of each name in reverse order, so that all names below a name are adjacent.
 */
import type { Migration } from './migration.ts';

export const appHosts: Migration = {
  name: '0009-app-hosts',
  statements: [
    `alter table app add column hosts text not null default '[]'`,
    `create table app_host (
      app_id text not null references app (id) on delete cascade,
      host text not null,
      primary key (app_id, host)
    )`,
    `create index app_host_host on app_host (host)`,
    `drop index app_gateway_path_unique`,
    `create unique index app_gateway_path_unique on app (gateway_path) where hosts = '[]'`,
    `create index app_gateway_path on app (gateway_path)`,
    // Empty for a version of an app without hosts, else the id of the app.
    `alter table version add column host_scope text not null default ''`,
    `drop index version_gateway_path_unique`,
    `create unique index version_gateway_path_host_scope_unique on version (gateway_path, host_scope)`,
  ],
};
