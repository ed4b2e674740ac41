/**
 * The order of test files: those that take longest begin first, so that none of them is left over at the end when the
 * other workers have nothing more to do. Where vitest knows how long they took last time it goes by that; on a fresh
 * checkout it would go by their sizes. The files of a project stay together, as in vitest's own order: a process that
 * files share goes on only with the very next file. Unit tests, the last project, are all short.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Twenty seconds and more beside others; the longest first. */
const LONG = [
  'integration/clients/docs-pages',
  'integration/nodes/acme-nodes',
  'integration/tls/acme',
  'browser/policies',
  'browser/every-screen',
  'browser/jobs',
  'browser/apps',
  'contract/limit-stalls',
  'browser/keyboard',
  'integration/nodes/postgres-gateway',
  'integration/storage/snapshot-file-start',
  'browser/console-attacks',
  'integration/resilience/discovery',
  'browser/live',
  'browser/overview',
  'integration/management/config-rollback',
  'browser/database-away',
  'browser/two-people',
  'browser/events',
  'integration/clients/curl',
  'integration/observe/traces',
  'browser/forged-calls',
  'integration/packages/npm',
  'integration/nodes/outages',
  'contract/redis-limits',
  'integration/nodes/event-nodes',
  'integration/nodes/postgres',
  'contract/postgres',
  'integration/tls/certificate-faults',
  'integration/http2-upstream/fault-matrix',
  'integration/shared-limits/outage',
  'integration/nodes/one-folder',
  'integration/nodes/deploy-topology',
  'integration/resilience/targets',
  'integration/storage/copy-databases',
  'integration/runtime/soak',
  'browser/keys',
  'integration/management/traffic-split',
  'browser/targets',
  'integration/storage/backup-restore',
  'integration/packages/deb',
  'integration/packages/image',
  'integration/nodes/webhook-nodes',
  'integration/resilience/fault-matrix',
  'integration/config-file/serving',
  'browser/large-tree',
  'integration/runtime/process-lifecycle',
  'integration/auth/key-usage',
  'browser/live-tabs',
  'integration/streams/back-pressure',
  'integration/http2/abuse',
  'integration/limits/retry-after',
  'integration/http2-upstream/failures',
  'integration/runtime/doctor',
  'fuzz/smoke',
  'integration/management/copy-version',
  'integration/runtime/worker-deaths',
  'integration/observe/event-sources',
  'integration/nodes/stats-nodes',
  'integration/shared-limits/nodes-policies',
  'integration/management/filtered-lists',
  'contract/postgres-outage',
  'integration/runtime/unix-socket',
  'integration/limits/threads',
].map((name) => `/test/${name}.test.ts`);

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(name));
  return place < 0 ? LONG.length : place;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const known = files.some((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined);
    const sorted = await super.sort(files);
    if (known) return sorted;
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((a, b) => placeOf(a) - placeOf(b)),
    );
  }
}
