import { defineConfig } from 'vitest/config';

// Rules and dashboards against a real Prometheus that scrapes real gateways, and promtool with each alert
// (`npm run test:observability`). Prometheus is a package of Debian; a test says so where it is missing.
export default defineConfig({
  test: {
    globalSetup: ['test/support/programs/program.ts'],
    include: ['test/observability/**/*.observability.ts'],
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
