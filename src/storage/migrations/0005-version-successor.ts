/** The successor of a version: a label or a URI reference. */
import type { Migration } from './migration.ts';

export const versionSuccessor: Migration = {
  name: '0005-version-successor',
  statements: [`alter table version add column successor text`],
};
