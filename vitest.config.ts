import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { LongestFirst } from './test/support/measure/longest-first.ts';
import { PATIENCE, POSTGRES_TESTS } from './vitest.postgres.config.ts';

// Unit tests stand beside their source; everything that needs sockets, processes or browsers is under test/.
/** Unit tests that may share a process and its modules: all but the one that replaces a module. */
const UNITS = ['src/**/!(part-with-secret).test.ts'];
/**
 * Where all run, these are a project of their own, as half of their time was loading the same modules. With
 * `--project all` they are in that project, each in a process of its own.
 */
const unitsApart = !process.argv.some((argument) => argument.startsWith('--project'));
const ALL_TESTS = {
  globalSetup: ['test/support/programs/program.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: PATIENCE,
} satisfies TestProjectInlineConfiguration['test'];

export default defineConfig({
  test: {
    // More than CI has processors: most of the time most tests wait.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...ALL_TESTS,
          name: 'all',
          include: [
            'src/**/*.test.ts',
            'test/**/*.test.ts',
            'scripts/**/*.test.ts',
            'console/src/**/*.test.ts',
          ],
          exclude: unitsApart ? UNITS : [],
        },
      },
      ...(unitsApart ? [{ test: { ...ALL_TESTS, name: 'units', include: UNITS, isolate: false } }] : []),
      {
        // Once more on PostgreSQL, where most depends on what is stored; `npm run test:postgres` runs the others too.
        test: {
          ...POSTGRES_TESTS,
          name: 'postgres',
          include: [
            'test/integration/auth/key-lifecycle.test.ts',
            'test/integration/management/{audit,concurrent-writes,config-rollback,key-resources,lists,resources,states,transaction}.test.ts',
            'test/integration/security/secrets.test.ts',
          ],
        },
      },
    ],
  },
});
