import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** How black-box tests run with each gateway on a PostgreSQL database of its own. */
export const POSTGRES_TESTS = {
  globalSetup: ['test/support/program.ts', 'test/support/postgres-suite.ts'],
  env: { HEADGATE_TEST_DATABASE: 'postgres' },
  testTimeout: 60_000,
  hookTimeout: 60_000,
} satisfies TestProjectInlineConfiguration['test'];

// All that speak for the contract (`npm run test:postgres`). Left out are those that are about SQLite files, or that
// never touch a database.
export default defineConfig({
  test: {
    ...POSTGRES_TESTS,
    maxWorkers: 2,
    include: [
      'test/integration/{browser,clients,dry-run,explain,jwt,keys,limits,management,policy,shadow,traffic}*.test.ts',
      'test/integration/settings-effects.test.ts',
    ],
    exclude: ['test/integration/management-outage.test.ts', 'test/integration/browser-page.test.ts'],
  },
});
