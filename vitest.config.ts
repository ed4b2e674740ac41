import { defineConfig } from 'vitest/config';

// Unit tests stand beside their source; everything that needs sockets, processes or browsers is under test/.
export default defineConfig({
  test: {
    globalSetup: ['test/support/program.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
