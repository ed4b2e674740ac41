import { defineConfig } from 'vitest/config';

// Each kind of package installed and started as its users do (`npm run test:packages`), one after the other: they need
// the network, root, or programs that not every machine has. A test says so where one is missing. `npm test` runs a
// part of them.
export default defineConfig({
  test: {
    globalSetup: ['test/support/programs/program.ts'],
    include: ['test/packages/**/*.packages.ts', 'test/integration/packages/*.test.ts'],
    env: { HEADGATE_TEST_PACKAGES: 'all' },
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
