import { defineConfig } from 'vitest/config';

// Clients and servers that others have written, in other languages (`npm run test:interop`). They are installed from
// the network at the first run, into a folder of their own; a test says so where a program that it needs is missing.
export default defineConfig({
  test: {
    globalSetup: ['test/support/programs/program.ts'],
    include: ['test/interop/**/*.interop.ts'],
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
