/**
 * One step of the schema. Statements are plain SQL that SQLite and Postgres both accept. Never edit a released
 * migration; add another.
 */
export interface Migration {
  /** `NNNN-what-it-does`; the number gives the order. */
  readonly name: string;
  readonly statements: readonly string[];
}
