/** The repository's contract over a real PostgreSQL server. */
import { postgresSchemas } from './databases.ts';
import { repositoryContract } from './repository.ts';

repositoryContract('PostgreSQL', postgresSchemas());
