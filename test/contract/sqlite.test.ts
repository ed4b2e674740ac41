/** The repository's contract over SQLite, in a file and in memory. */
import { repositoryContract } from './repository.ts';
import { sqliteFiles, sqliteInMemory } from './databases.ts';

repositoryContract('SQLite file', sqliteFiles());
// Random writes cost the least here.
repositoryContract('SQLite in memory', sqliteInMemory, 8);
