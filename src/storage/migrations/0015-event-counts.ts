/**
 * The index by which events of some types are found also has their apps, so that those that wait for a webhook are
 * counted without reading them.
 */
import type { Migration } from './migration.ts';

export const eventCounts: Migration = {
  name: '0015-event-counts',
  statements: [`drop index event_type_id`, `create index event_type_id_app_id on event (type, id, app_id)`],
};
