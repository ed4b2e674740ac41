/**
 * The shape of one step of the schema. Statements are plain SQL that SQLite and Postgres both take; a migration
 * that has been released is never edited, only followed by another.
 */
export interface Migration {
  /** `NNNN-what-it-does`; the number gives the order. */
  readonly name: string;
  readonly statements: readonly string[];
}
