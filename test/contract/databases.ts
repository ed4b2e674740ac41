/** Databases for the repository's contract: a real PostgreSQL server, and SQLite in files and in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { HISTORY_DEFAULTS, type HistoryBounds } from '../../src/model/history/config-history.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { emptiedSchemas, type EmptiedSchemas } from '../support/programs/emptied-schemas.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';
import type { OpenRepository } from './repository.ts';

/** It orders texts as a language does. */
const OF_A_LANGUAGE = "template template0 locale_provider icu icu_locale 'en-US' locale 'C'";

/** Registers the hooks of a file; each repository is in a schema that is as new. */
export function postgresSchemas(): OpenRepository {
  let server: PostgresServer;
  let database: string;
  let schemas: EmptiedSchemas;
  beforeAll(async () => {
    server = await startPostgres('fsync=off');
    database = await server.createDatabase(OF_A_LANGUAGE);
    schemas = await emptiedSchemas(server, database, async (url) => (await openPostgresAt(url)).close());
  });
  // After the hook of the suite that closes its repository.
  afterEach(() => schemas.giveBack());
  afterAll(() => server.stop());

  test('the database would order texts otherwise', async () => {
    expect(await server.query(database, "select 'a' < 'B' as language")).toEqual([{ language: true }]);
  });
  return async (history) => openPostgresAt(await schemas.take(), history);
}

const openPostgresAt = (url: string, history: HistoryBounds = HISTORY_DEFAULTS): Promise<Repository> =>
  openPostgres({
    secretPlaces: SECRET_PLACES,
    url,
    autoMigrate: true,
    clock: systemClock,
    history,
    secretKeys: [Buffer.alloc(32, 7)],
    // Machines that run tests may stand still for a moment; what a slow database leads to has a test of its own.
    settings: { ...POSTGRES_DEFAULTS, timeoutMs: 10_000 },
  });

/** Registers the hook of a file that removes them all. */
export function sqliteFiles(): OpenRepository {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-contract-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  return (history) => {
    files += 1;
    return openSqliteAt(join(folder, `${files}.db`), history);
  };
}

export const sqliteInMemory: OpenRepository = (history) => openSqliteAt(':memory:', history);

const openSqliteAt = (path: string, history = HISTORY_DEFAULTS): ReturnType<OpenRepository> =>
  openSqlite({ secretPlaces: SECRET_PLACES, path, autoMigrate: true, clock: systemClock, history });
