/** Routes to which a change does the same, so that it is told once. Pure. */
import type { DryRunEndpoint } from '../../api/schema.ts';

export interface EffectGroup {
  readonly key: string;
  readonly sample: DryRunEndpoint;
  readonly routes: readonly DryRunEndpoint[];
}

export function groupsOf(endpoints: readonly DryRunEndpoint[]): readonly EffectGroup[] {
  const groups = Map.groupBy(endpoints, keyOf);
  return [...groups].map(([key, routes]) => ({ key, sample: routes[0]!, routes }));
}

function keyOf({
  change,
  parts,
  before,
  after,
  admits,
  revision_id: revision,
  endpoint_id: endpoint,
}: DryRunEndpoint): string {
  // A route that moves has a path of its own.
  const moved =
    before !== null && after !== null && before.route !== after.route ? [revision, endpoint] : null;
  const shown = change === 'removed' ? [] : parts;
  return JSON.stringify([change, shown, before?.serves, after?.serves, admits, moved]);
}
