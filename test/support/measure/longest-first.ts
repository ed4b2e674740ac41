/**
 * The order of test files: those that take longest begin first, so that none of them is left over at the end when the
 * other workers have nothing more to do. Where vitest knows how long they took last time it goes by that; on a fresh
 * checkout it would go by their sizes. The files of a project stay together, as in vitest's own order: a process that
 * files share goes on only with the very next file. Unit tests, the last project, are all short.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Ten seconds and more, most of them spent waiting; the longest first. */
const LONG = [
  'integration/clients/docs-pages',
  'integration/storage/kill-apply',
  'integration/packages/deb',
  'integration/packages/npm',
  'integration/packages/image',
  'integration/nodes/postgres-gateway',
  'integration/storage/snapshot-file-start',
  'contract/postgres',
  'integration/nodes/postgres',
  'contract/redis-limits',
  'integration/shared-limits/outage',
  'integration/limits/threads',
  'contract/limit-stalls',
  'integration/runtime/soak',
  'integration/management/config-rollback',
  'integration/nodes/deploy-topology',
  'integration/nodes/outages',
  'contract/declared-config',
  'fuzz/smoke',
  'integration/clients/curl',
  'integration/auth/key-usage',
  'integration/runtime/settings-effects',
  'integration/streams/back-pressure',
  'integration/limits/flood',
  'integration/runtime/worker-deaths',
  'integration/nodes/one-folder',
  'integration/limits/retry-after',
  'integration/shared-limits/stalls',
  'integration/config-file/changes',
  'contract/postgres-outage',
  'integration/shared-limits/start',
  'integration/config-file/serving',
  'integration/storage/copy-databases',
  'integration/runtime/process-lifecycle',
  'integration/management/copy-version',
  'integration/resilience/fault-matrix',
  'integration/auth/jwt-storms',
  'integration/shared-limits/partition',
  'integration/management/key-resources',
  'contract/sqlite',
  'integration/limits/time',
  'integration/runtime/drain',
  'integration/http2/abuse',
  'integration/resilience/slow-clients',
  'integration/observe/shadow-report',
  'integration/resilience/health',
  'integration/runtime/supervision',
  'integration/engine/pool-safety',
  'integration/clients/browser-cors',
  'integration/traffic/versions',
  'integration/engine/client-closes',
  'integration/management/apply-at-size',
  'integration/resilience/breaker',
  'integration/management/resources',
  'integration/clients/git',
  'integration/auth/introspect',
  'integration/limits/million-callers',
  'integration/shared-limits/store-tls',
  'integration/tls/resumption',
  'integration/auth/jwt-identity-provider',
  'integration/auth/jwks',
  'integration/runtime/takeover',
  'integration/explain/fixes',
  'integration/observe/access-log',
  'integration/auth/key-lifecycle',
  'integration/storage/database-settings',
  'integration/management/admin',
  'integration/resilience/head-pace',
  'integration/resilience/overload-management',
  'integration/storage/backup-restore',
  'integration/clients/browser-swagger-ui',
  'integration/limits/isolation',
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
