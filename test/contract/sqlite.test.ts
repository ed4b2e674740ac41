/** The repository's contract over SQLite, in a file and in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { HISTORY_DEFAULTS } from '../../src/model/history/config-history.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { repositoryContract } from './repository.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-contract-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
repositoryContract('SQLite file', (history = HISTORY_DEFAULTS) => {
  files += 1;
  return openSqlite({
    secretPlaces: SECRET_PLACES,
    path: join(folder, `${files}.db`),
    autoMigrate: true,
    clock: systemClock,
    history,
  });
});
repositoryContract('SQLite in memory', (history = HISTORY_DEFAULTS) =>
  openSqlite({
    secretPlaces: SECRET_PLACES,
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
    history,
  }),
);
