/**
 * Declared configurations on SQLite, on a real PostgreSQL, and from each to the other: a dump that is applied changes
 * nothing, a second dump is the same bytes, and a dump makes the same configuration in another database. The server
 * orders texts as a language does; dumps must not.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDocument } from '../../src/declaration/yaml-reader.ts';
import { writeYaml } from '../../src/declaration/yaml-writer.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { configurations, SAMPLE_SECRET } from '../../src/management/declaration/configurations.fixture.ts';
import { startManagement, type Fixture, type Reply } from '../../src/management/management.fixture.ts';
import { HISTORY_DEFAULTS } from '../../src/model/history/config-history.ts';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';

const OF_A_LANGUAGE = "template template0 locale_provider icu icu_locale 'en-US' locale 'C'";

let server: PostgresServer;
let database: string;
beforeAll(async () => {
  server = await startPostgres('fsync=off');
  database = await server.createDatabase(OF_A_LANGUAGE);
});
afterAll(() => server.stop());

async function postgres(): Promise<Repository> {
  return openPostgres({
    secretPlaces: SECRET_PLACES,
    url: await server.createSchema(database),
    autoMigrate: true,
    clock: systemClock,
    history: HISTORY_DEFAULTS,
    secretKeys: [Buffer.alloc(32, 7)],
    settings: { ...POSTGRES_DEFAULTS, timeoutMs: 10_000 },
  });
}

const apply = (to: Fixture, config: unknown): Promise<Reply> => to.post('/config/apply', { config });
const dump = async (from: Fixture): Promise<string> =>
  writeYaml((await from.get('/config')).body.data.config);

function read(yaml: string): unknown {
  const document = readDocument('dump.yaml', new TextEncoder().encode(yaml));
  if (!('locate' in document)) throw new Error(JSON.stringify(document));
  return document.value;
}

/** With the secrets themselves, which no dump has. */
const withSecrets = (config: unknown): unknown =>
  JSON.parse(JSON.stringify(config), (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith('${sealed:') ? SAMPLE_SECRET : value,
  );

async function made(to: Fixture, config: unknown): Promise<string> {
  const reply = await apply(to, config);
  expect(reply.status, reply.text).toBe(200);
  const yaml = await dump(to);
  expect(await dump(to)).toBe(yaml);
  expect((await apply(to, read(yaml))).body.data.changes).toEqual([]);
  return yaml;
}

it('any configuration is the same bytes in either database, and from one to the other and back', async () => {
  const [first, second] = [await postgres(), await postgres()];
  try {
    await using onPostgres = await startManagement({ repository: first });
    await using onSqlite = await startManagement();
    await using back = await startManagement({ repository: second });
    await fc.assert(
      fc.asyncProperty(configurations, async (apps) => {
        for (const each of [onPostgres, onSqlite, back]) await each.reset();
        const yaml = await made(onPostgres, { apps });
        expect(await made(onSqlite, withSecrets(read(yaml)))).toBe(yaml);
        expect(await made(back, withSecrets(read(await dump(onSqlite))))).toBe(yaml);
      }),
      { numRuns: 8 },
    );
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
}, 180_000);
