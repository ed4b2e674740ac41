/** The repository's contract over a real PostgreSQL server, in a database that orders texts as a language does. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { HISTORY_DEFAULTS, type HistoryBounds } from '../../src/model/history/config-history.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { emptiedSchemas, type EmptiedSchemas } from '../support/programs/emptied-schemas.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';
import { repositoryContract } from './repository.ts';

const OF_A_LANGUAGE = "template template0 locale_provider icu icu_locale 'en-US' locale 'C'";

let server: PostgresServer;
let database: string;
let schemas: EmptiedSchemas;
beforeAll(async () => {
  server = await startPostgres('fsync=off');
  database = await server.createDatabase(OF_A_LANGUAGE);
  schemas = await emptiedSchemas(server, database, async (url) => (await open(url)).close());
});
// After the hook of the suite that closes its repository.
afterEach(() => schemas.giveBack());
afterAll(() => server.stop());

test('the database would order texts otherwise', async () => {
  expect(await server.query(database, "select 'a' < 'B' as language")).toEqual([{ language: true }]);
});

const open = (url: string, history: HistoryBounds = HISTORY_DEFAULTS): Promise<Repository> =>
  openPostgres({
    secretPlaces: SECRET_PLACES,
    url,
    autoMigrate: true,
    clock: systemClock,
    history,
    secretKey: Buffer.alloc(32, 7),
    // Machines that run tests may stand still for a moment; what a slow database leads to has a test of its own.
    settings: { ...POSTGRES_DEFAULTS, timeoutMs: 10_000 },
  });

repositoryContract('PostgreSQL', async (history) => open(await schemas.take(), history));
