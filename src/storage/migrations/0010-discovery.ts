/** Where the targets of a revision are looked up, as a JSON text. */
import type { Migration } from './migration.ts';

export const discovery: Migration = {
  name: '0010-discovery',
  statements: [`alter table revision add column discovery text`],
};
