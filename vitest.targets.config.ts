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

const tests = (folder: string, ...names: readonly string[]): string[] =>
  names.map((name) => `test/integration/${folder}/${name}.test.ts`);

/** These count or bound the connections to a backend, or the tries of a request, where each place has its own. */
const COUNT_CONNECTIONS = [
  ...tests(
    'engine',
    'client-closes',
    'edges',
    'exchanges',
    'framing',
    'max-forwards',
    'pool-safety',
    'repeated-heads',
    'reserialise',
  ),
  ...tests('http2-upstream', 'exchanges', 'failures', 'frames', 'grpc', 'shared-backend'),
  ...tests('resilience', 'fault-matrix', 'overload', 'retries'),
  ...tests('runtime', 'descriptors', 'settings-effects', 'soak'),
  ...tests('security', 'connection-credentials'),
];
/** These compare the address of the backend that has answered. */
const NAME_ADDRESSES = [
  ...tests('explain', 'described', 'fixes', 'recorded'),
  ...tests('management', 'config-bisect', 'explain-versions'),
  ...tests('observe', 'span-bytes', 'traces'),
  ...tests('security', 'egress', 'private-details'),
];
/** These compare records, of which `targets` is a field. */
const COMPARE_RECORDS = tests('management', 'bad-bodies', 'resources');
const FOLDERS =
  'auth,clients,engine,explain,http2,http2-upstream,limits,management,nodes,observe,policy,resilience,runtime,security,shared-limits,streams,tls,traffic';

// All that send requests to backends (`npm run test:targets`).
export default defineConfig({
  test: {
    ...TARGETS_TESTS,
    maxWorkers: 2,
    include: [`test/integration/{${FOLDERS}}/**/*.test.ts`],
    exclude: [
      'test/integration/resilience/target*.test.ts',
      ...COUNT_CONNECTIONS,
      ...NAME_ADDRESSES,
      ...COMPARE_RECORDS,
    ],
  },
});
