/** How requests are sent to the backends of a revision; before this migration, HTTP/1.1 was used for all. */
import type { Migration } from './migration.ts';

export const backendProtocol: Migration = {
  name: '0011-backend-protocol',
  statements: [`alter table revision add column backend_protocol text not null default 'http1'`],
};
