import { defineConfig } from 'vitest/config';

// What a collector of the OpenTelemetry project makes of our exports (`npm run test:collector`): it is built from its
// modules first, which needs Go, and at the first run the network and some minutes.
export default defineConfig({
  test: {
    globalSetup: ['test/support/programs/program.ts'],
    include: ['test/collector/**/*.collector.ts'],
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 900_000,
  },
});
