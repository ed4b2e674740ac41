/** Indexes by which events of apps and types are counted without their rows. */
import type { Migration } from './migration.ts';

export const eventCounts: Migration = {
  name: '0015-event-counts',
  statements: [
    `create index event_app_id_id_type on event (app_id, id, type)`,
    `drop index event_app_id_id`,
    `create index event_of_any_app on event (type, id, app_id) where app_id is null`,
  ],
};
