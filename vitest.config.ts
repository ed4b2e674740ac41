import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { LongestFirst } from './test/support/measure/longest-first.ts';
import { PATIENCE, POSTGRES_TESTS } from './vitest.postgres.config.ts';
import { TARGETS_TESTS } from './vitest.targets.config.ts';

// Unit tests stand beside their source; everything that needs sockets, processes or browsers is under test/.
/** Unit tests that may share a process and its modules: all but the one that replaces a module. */
const UNITS = [
  'src/**/!(part-with-secret).test.ts',
  'console/src/**/*.test.ts',
  'scripts/*-rules.test.ts',
  'scripts/test-report.test.ts',
  'scripts/{docs,package,site}/*.test.ts',
  'test/{conformance,scenarios,support}/**/*.test.ts',
];
/** Tests that look at a started gateway from outside may share one, too: what they keep in it is their own clients. */
const OUTSIDE = [
  'test/contract/*.test.ts',
  'test/integration/clients/!(browser-*).test.ts',
  'test/integration/{auth,config-file,imports,nodes,observe,runtime}/*.test.ts',
  'test/integration/{security,shared-limits,storage,tls,traffic}/*.test.ts',
  'test/integration/explain/!(agrees|recorder).test.ts',
  'test/integration/limits/!(*threads|flood|million-callers|schedules).test.ts',
  'test/integration/management/!(apply-at-size).test.ts',
  'test/integration/policy/*.test.ts',
];
/** Tests that run the engine in their own process: all but those that measure its memory or its time. */
const ENGINE = [
  'test/integration/{resilience,streams}/*.test.ts',
  'test/integration/engine/!(linear-time*).test.ts',
  'test/integration/explain/agrees.test.ts',
  'test/integration/http2/!(abuse).test.ts',
  'test/integration/http2-upstream/!(fault-matrix).test.ts',
];
/** One browser for many files, each with a gateway, pages and records of its own. */
const BROWSER = ['test/browser/*.test.ts', 'test/integration/clients/browser-*.test.ts'];
/** A browser, a gateway and the other tests share two processors. */
const BROWSER_TIMEOUTS = { testTimeout: 180_000, hookTimeout: 180_000 };
/**
 * Where all run, these are projects of their own, as a good part of their time was loading the same modules. With
 * `--project all` they are in that project, each in a process of its own.
 */
const sharing = !process.argv.some((argument) => /^(?:--project=)?all$/.test(argument));
const ALL_TESTS = {
  globalSetup: ['test/support/programs/program.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: PATIENCE,
} satisfies TestProjectInlineConfiguration['test'];

export default defineConfig({
  test: {
    // More than CI has processors: most of the time most tests wait.
    maxWorkers: 6,
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
          exclude: sharing ? [...UNITS, ...OUTSIDE, ...ENGINE, ...BROWSER] : [],
        },
      },
      ...(sharing
        ? [
            {
              test: { ...ALL_TESTS, ...BROWSER_TIMEOUTS, name: 'browser', include: BROWSER, isolate: false },
            },
            { test: { ...ALL_TESTS, name: 'engine', include: ENGINE, isolate: false } },
            { test: { ...ALL_TESTS, name: 'outside', include: OUTSIDE, isolate: false } },
            { test: { ...ALL_TESTS, name: 'units', include: UNITS, isolate: false } },
          ]
        : []),
      {
        // Once more with several targets in place of each backend; `npm run test:targets` runs more of them.
        test: {
          ...TARGETS_TESTS,
          name: 'targets',
          isolate: false,
          include: ['test/integration/{resilience/policy-resilience,traffic/forwarding}.test.ts'],
        },
      },
      {
        // Once more on PostgreSQL, where writes meet (test/contract asks both databases the same questions); `npm run
        // test:postgres` runs the others too.
        test: {
          ...POSTGRES_TESTS,
          name: 'postgres',
          isolate: false,
          include: [
            'test/integration/auth/key-lifecycle.test.ts',
            'test/integration/management/{concurrent-writes,transaction}.test.ts',
            'test/integration/security/secrets.test.ts',
          ],
        },
      },
    ],
  },
});
