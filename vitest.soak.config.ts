import { defineConfig } from 'vitest/config';

// Tests at full size (`npm run test:soak`), one after the other: they measure, and need the machine for themselves.
export default defineConfig({
  test: {
    globalSetup: ['test/support/programs/program.ts'],
    include: ['test/soak/**/*.soak.ts'],
    maxWorkers: 1,
    fileParallelism: false,
    hookTimeout: 60_000,
  },
});
