/** Many more random writes than the repository's contract makes in an ordinary test, over every kind of database. */
import { describe } from 'vitest';
import { postgresSchemas, sqliteFiles, sqliteInMemory } from '../contract/databases.ts';
import { randomWritesContract } from '../contract/repository.ts';

const RUNS = 60;

describe('PostgreSQL', () => {
  randomWritesContract(postgresSchemas(), RUNS);
});
describe('SQLite file', () => {
  randomWritesContract(sqliteFiles(), RUNS);
});
describe('SQLite in memory', () => {
  randomWritesContract(sqliteInMemory, RUNS);
});
