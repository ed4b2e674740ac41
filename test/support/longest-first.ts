/**
 * The order of test files: those that take longest begin first, so that none of them is left over at the end when the
 * other workers have nothing more to do. Where vitest knows how long they took last time it goes by that; on a fresh
 * checkout it would go by their sizes.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Ten seconds and more, most of them spent waiting; the longest first. */
const LONG = [
  'contract/postgres',
  'integration/nodes-postgres',
  'integration/runtime-worker-deaths',
  'integration/postgres-gateway',
  'integration/runtime-kill-writes',
  'integration/stream-back-pressure',
  'integration/deploy-topology',
  'integration/limits-workers',
  'integration/nodes-outages',
  'integration/limit-outage',
  'integration/soak',
  'integration/fault-matrix',
  'integration/snapshot-file-start',
  'integration/limits-retry-after',
  'integration/limits-flood',
  'integration/limit-start',
  'integration/settings-effects',
  'integration/runtime-supervision',
  'integration/clients-curl',
  'integration/engine-slow-clients',
  'integration/limit-partition',
  'integration/traffic-versions',
  'integration/jwt-storms',
  'integration/config-churn',
  'integration/explain-agrees',
  'contract/redis-limits',
  'contract/postgres-outage',
  'fuzz/smoke',
  'integration/policy-jwks',
  'integration/jwt-identity-provider',
  'integration/shadow-report',
  'integration/policy-limits-time',
  'integration/traffic-lifecycle',
  'integration/runtime-drain',
  'integration/overload-management',
  'integration/limit-nodes',
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
