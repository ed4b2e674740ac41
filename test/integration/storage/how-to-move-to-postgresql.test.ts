/** docs/how-to/move-to-postgresql.md, run as it is written, with a real PostgreSQL in place of the one it names. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runPage } from '../../support/programs/docs-page.ts';
import { startPostgres, type PostgresServer } from '../../support/programs/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres('fsync=off');
});
afterAll(() => server.stop());

it('moves the configuration while the gateway serves', { timeout: 180_000 }, async () => {
  const problem = await runPage('docs/how-to/move-to-postgresql.md', {
    'postgres://headgate:password@db.example.com/headgate': await server.createDatabase(),
  });
  expect(problem).toBeUndefined();
});
