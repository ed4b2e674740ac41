import { defineConfig } from 'vitest/config';

// The black-box tests that speak for the contract, with each gateway on a PostgreSQL database of its own
// (`npm run test:postgres`). Left out are those that are about SQLite files, or that never touch a database.
export default defineConfig({
  test: {
    globalSetup: ['test/support/program.ts', 'test/support/postgres-suite.ts'],
    include: [
      'test/integration/{browser,clients,dry-run,explain,jwt,keys,limits,management,policy,shadow,traffic}*.test.ts',
      'test/integration/settings-effects.test.ts',
    ],
    exclude: ['test/integration/management-outage.test.ts', 'test/integration/browser-page.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
