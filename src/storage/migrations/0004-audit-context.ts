/** Audit entries record the client address and the name of the changed record, with indexes on both. */
import type { Migration } from './migration.ts';

export const auditContext: Migration = {
  name: '0004-audit-context',
  statements: [
    // Null in older entries.
    `alter table audit_entry add column address text`,
    `alter table audit_entry add column request_id text`,
    `alter table audit_entry add column resource_name text`,
    `alter table audit_entry add column parents text`,
    `create index audit_entry_actor_id on audit_entry (actor, id)`,
    `create index audit_entry_resource_type_id on audit_entry (resource_type, id)`,
    `create index audit_entry_resource_id_id on audit_entry (resource_id, id)`,
    `create index audit_entry_resource_name_id on audit_entry (resource_name, id)`,
    `create index audit_entry_action_id on audit_entry (action, id)`,
    `create index audit_entry_at on audit_entry (at)`,
  ],
};
