/** Problems with discovery: revisions without targets, and revisions that only have earlier results. */
import type { ConfigState } from '../cluster/config-state.ts';
import type { DiscoveryWatch } from '../discovery/discovery-watch.ts';
import { found, type FoundProblem } from './found-problem.ts';
import { counted } from '../../lib/text/counted.ts';

/** Beyond this number of revisions, the rest is one problem. */
const REVISIONS_MAX = 50;

export function discoveryProblems(state: ConfigState, discovery: DiscoveryWatch): FoundProblem[] {
  const problems: FoundProblem[] = [];
  let more = 0;
  for (const { app, version, revision } of state.revisions()) {
    const health = revision.is_current ? discovery.healthOf(revision) : undefined;
    if (health === undefined || health.stale_since === null) continue;
    if (problems.length >= REVISIONS_MAX) {
      more += 1;
      continue;
    }
    const name = `revision ${revision.revision} of ${app.slug} ${version.version}`;
    const link = {
      kind: 'revision',
      app: app.slug,
      version: version.version,
      revision: revision.revision,
    } as const;
    const failure = `Looking up the targets of ${name} fails: ${health.error}`;
    const sinceMs = Date.parse(health.stale_since);
    problems.push(
      health.targets === 0
        ? found(
            'critical',
            'no_targets',
            `${failure}. It gets no traffic until some are found`,
            link,
            sinceMs,
          )
        : found(
            'warning',
            'discovery_failing',
            `${failure}. What was found before stays in use`,
            link,
            sinceMs,
          ),
    );
  }
  if (more > 0)
    problems.push(
      found(
        'warning',
        'discovery_failing',
        `Looking up the targets of ${counted(more, 'more revision')} fails`,
        {
          kind: 'revision',
        },
      ),
    );
  return problems;
}
