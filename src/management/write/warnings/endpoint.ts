/** Warnings of an endpoint. */
import type { Endpoint, Revision } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import type { RuleContext } from '../rule-context.ts';
import { colonWarnings } from './literal-colons.ts';
import { policyWarnings } from './policy.ts';
import { endpointWarnings as endpointsOfRevision, type RevisionPlace } from './revision.ts';

export interface EndpointPlace extends RevisionPlace {
  readonly revision: Revision;
}

export async function endpointWarnings(
  { app, version, revision }: EndpointPlace,
  endpoint: Endpoint,
  rules: RuleContext,
): Promise<Warning[]> {
  const last = endpoint.is_active
    ? []
    : await endpointsOfRevision(app, version, revision, '/is_active', rules);
  return [
    ...(await policyWarnings(app, revision, endpoint, rules)),
    ...pathWarnings(endpoint, version.gateway_path),
    ...colonWarnings({ path: endpoint.path, backend_path: endpoint.backend_path }),
    ...last,
  ];
}

/** Warnings about a revision after one of its endpoints was deleted. */
export function endpointRemovalWarnings(
  { app, version, revision }: EndpointPlace,
  rules: RuleContext,
): Promise<Warning[]> {
  return endpointsOfRevision(app, version, revision, '', rules);
}

function pathWarnings({ path }: Endpoint, gatewayPath: string): Warning[] {
  if (gatewayPath === '/' || (path !== gatewayPath && !path.startsWith(`${gatewayPath}/`))) return [];
  const what = `The endpoint answers at "${gatewayPath}${path}"`;
  return [warning('endpoint_repeats_gateway_path', '/path', what)];
}
