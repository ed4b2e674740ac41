import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** What is waited for may take as long as a machine with other things to do needs; vitest's own bound is a second. */
export const PATIENCE = { poll: { timeout: 30_000 } };

/** How black-box tests run with each gateway on a PostgreSQL database of its own. */
export const POSTGRES_TESTS = {
  globalSetup: ['test/support/programs/program.ts', 'test/support/programs/postgres-suite.ts'],
  env: { HEADGATE_TEST_DATABASE: 'postgres' },
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: PATIENCE,
} satisfies TestProjectInlineConfiguration['test'];

// All that speak for the contract (`npm run test:postgres`). Left out are those that are about SQLite files, or that
// never touch a database.
export default defineConfig({
  test: {
    ...POSTGRES_TESTS,
    maxWorkers: 2,
    include: [
      'test/integration/{auth,clients,explain,limits,management,policy,traffic}/*.test.ts',
      'test/integration/packages/npm.test.ts',
      'test/integration/observe/{policy-metrics,shadow-report}.test.ts',
      'test/integration/resilience/{breaker,health,policy-resilience}.test.ts',
      'test/integration/runtime/{process-lifecycle,settings-effects}.test.ts',
      'test/integration/security/{canonical-paths,secrets}.test.ts',
    ],
    exclude: [
      'test/integration/management/database-outage.test.ts',
      'test/integration/clients/browser-page.test.ts',
    ],
  },
});
