import { defineConfig } from 'vitest/config';

// The Helm chart and the Kustomize base, rendered by the real programs, checked with the schemas of Kubernetes and put
// on its API server (`npm run test:kubernetes`). Programs and schemas come as Go modules; a test says so where Go is
// missing.
export default defineConfig({
  test: {
    globalSetup: ['test/support/programs/program.ts'],
    include: ['test/kubernetes/**/*.kubernetes.ts'],
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    // Programs are built from their sources the first time.
    hookTimeout: 2_700_000,
  },
});
