import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/measure/longest-first.ts';
import { PATIENCE, POSTGRES_TESTS } from './vitest.postgres.config.ts';

// Unit tests stand beside their source; everything that needs sockets, processes or browsers is under test/.
export default defineConfig({
  test: {
    // More than CI has processors: most of the time most tests wait.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'all',
          globalSetup: ['test/support/programs/program.ts'],
          include: [
            'src/**/*.test.ts',
            'test/**/*.test.ts',
            'scripts/**/*.test.ts',
            'console/src/**/*.test.ts',
          ],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: PATIENCE,
        },
      },
      {
        // Once more on PostgreSQL, where most depends on what is stored; `npm run test:postgres` runs the others too.
        test: {
          ...POSTGRES_TESTS,
          name: 'postgres',
          include: [
            'test/integration/auth/{introspect,key-lifecycle}.test.ts',
            'test/integration/management/{audit,concurrent-writes,config-rollback,key-resources,lists,resources,states,transaction}.test.ts',
            'test/integration/policy/{live-policies,merge}.test.ts',
            'test/integration/security/secrets.test.ts',
            'test/integration/traffic/versions.test.ts',
          ],
        },
      },
    ],
  },
});
