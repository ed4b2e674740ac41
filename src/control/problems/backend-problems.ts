/** Problems with backends: open breakers, failing health checks, and apps with many errors. */
import { hasHealthCheck } from '../../config/backend.ts';
import { ERRORS as ERROR_COUNT, REQUESTS } from '../../observe/stats/stats-columns.ts';
import type { StatsHistory } from '../../observe/stats/stats-history.ts';
import { gridOf, readRows } from '../../observe/stats/stats-window.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { HealthRegistry } from '../health/health-registry.ts';
import { Breaker } from '../../proxy/resilience/breaker.ts';
import { found, percent, type FoundProblem } from './found-problem.ts';
import { counted } from '../../lib/text/counted.ts';

/** Beyond this number of backends, the rest is one problem. */
const REVISIONS_MAX = 50;
const APPS_MAX = 20;
const ERROR_WINDOW_SECS = 300;
/** With fewer requests, the share of errors says little. */
const REQUESTS_MIN = 20;
const SHARE_WARNING = 0.05;
const SHARE_CRITICAL = 0.5;

export function breakerProblems(state: ConfigState, health: HealthRegistry): FoundProblem[] {
  const problems: FoundProblem[] = [];
  let more = 0;
  for (const { app, version, revision } of state.revisions()) {
    const memory = revision.is_current ? state.breakerOf(revision.id) : undefined;
    if (memory === undefined) continue;
    const isClosed = new Breaker(memory).isClosed;
    if (isClosed && !hasHealthCheck(revision)) continue;
    const { last_error: error, last_probe: probe, since } = health.healthOf(revision);
    if (isClosed && probe?.ok !== false) continue;
    if (problems.length >= REVISIONS_MAX) {
      more += 1;
      continue;
    }
    const name = `revision ${revision.revision} of ${app.slug} ${version.version}`;
    const link = {
      kind: 'revision' as const,
      app: app.slug,
      version: version.version,
      revision: revision.revision,
    };
    const sinceMs = since === null ? undefined : Date.parse(since);
    problems.push(
      isClosed
        ? found(
            'warning',
            'health_check_failing',
            `The last health check of ${name} failed: ${probe?.error ?? `status ${probe?.status}`}`,
            link,
          )
        : found(
            'critical',
            'breaker_open',
            `The circuit breaker of ${name} is open: ${error?.detail ?? probe?.error ?? 'its backend fails'}. The revision gets only trial requests until its backend answers again`,
            link,
            sinceMs,
          ),
    );
  }
  if (more > 0) {
    const detail = `${counted(more, 'more revision has', 'more revisions have')} an open circuit breaker or failing health checks`;
    problems.push(found('critical', 'breaker_open', detail, { kind: 'revision' }));
  }
  return problems;
}

/** Apps with many errors in the last minutes; most requests first. */
export async function errorProblems(stats: StatsHistory): Promise<FoundProblem[]> {
  const sinceSecs = stats.clock.unixSecs(stats.closedSecond) - ERROR_WINDOW_SECS + 1;
  const grid = gridOf(stats, '15m', 60, sinceSecs);
  const rows = await readRows(stats, 'app', grid, undefined);
  const failing = rows.flatMap(({ labels, total }) => {
    const requests = total[REQUESTS] ?? 0;
    const share = (total[ERROR_COUNT] ?? 0) / Math.max(1, requests);
    if (labels.kind !== 'app' || requests < REQUESTS_MIN || share < SHARE_WARNING) return [];
    return [{ app: labels.app, requests, share }];
  });
  failing.sort((a, b) => b.requests * b.share - a.requests * a.share);
  return failing
    .slice(0, APPS_MAX)
    .map(({ app, requests, share }) =>
      found(
        share >= SHARE_CRITICAL ? 'critical' : 'warning',
        'high_error_share',
        `${percent(share)} of ${counted(requests, 'request')} of ${app} in the last minutes ended in errors of its backend or of the gateway`,
        { kind: 'app', app },
      ),
    );
}
