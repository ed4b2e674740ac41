/** Several targets of a revision, and how requests are spread over them: JSON texts. */
import type { Migration } from './migration.ts';

export const targets: Migration = {
  name: '0008-targets',
  statements: [
    `alter table revision add column targets text`,
    `alter table revision add column load_balancing text`,
  ],
};
