/**
 * The order of test files: those that take longest begin first, so that none of them is left over at the end when the
 * other workers have nothing more to do. Where vitest knows how long they took last time it goes by that; on a fresh
 * checkout it would go by their sizes.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Ten seconds and more, most of them spent waiting; the longest first. */
const LONG = [
  'contract/postgres',
  'integration/nodes/postgres',
  'integration/clients/docs-pages',
  'integration/runtime/worker-deaths',
  'integration/nodes/postgres-gateway',
  'integration/storage/kill-writes',
  'integration/streams/back-pressure',
  'integration/nodes/deploy-topology',
  'integration/limits/threads',
  'integration/nodes/outages',
  'integration/shared-limits/outage',
  'integration/runtime/soak',
  'integration/resilience/fault-matrix',
  'integration/storage/snapshot-file-start',
  'integration/limits/retry-after',
  'integration/limits/flood',
  'integration/shared-limits/start',
  'integration/runtime/settings-effects',
  'integration/runtime/supervision',
  'integration/clients/curl',
  'integration/resilience/slow-clients',
  'integration/shared-limits/partition',
  'integration/traffic/versions',
  'integration/auth/jwt-storms',
  'integration/runtime/config-churn',
  'integration/explain/agrees',
  'contract/redis-limits',
  'contract/postgres-outage',
  'fuzz/smoke',
  'integration/auth/jwks',
  'integration/auth/jwt-identity-provider',
  'integration/observe/shadow-report',
  'integration/limits/time',
  'integration/runtime/process-lifecycle',
  'integration/runtime/drain',
  'integration/resilience/overload-management',
  'integration/shared-limits/nodes',
].map((name) => `/test/${name}.test.ts`);

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(name));
  return place < 0 ? LONG.length : place;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const known = files.some((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined);
    const sorted = await super.sort(files);
    return known ? sorted : sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
