import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { PATIENCE } from './vitest.postgres.config.ts';

/** How black-box tests run with three targets in place of each backend (test/support/three-targets.ts). */
export const TARGETS_TESTS = {
  globalSetup: ['test/support/programs/program.ts'],
  env: { HEADGATE_TEST_TARGETS: '3' },
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: PATIENCE,
} satisfies TestProjectInlineConfiguration['test'];

// All that send requests to backends (`npm run test:targets`).
export default defineConfig({
  test: {
    ...TARGETS_TESTS,
    maxWorkers: 2,
    include: ['test/integration/{auth,clients,engine,explain,http2,http2-upstream,limits,management,observe,policy,resilience,security,streams,tls,traffic}/**/*.test.ts'],
    exclude: ['test/integration/resilience/target*.test.ts'],
  },
});
