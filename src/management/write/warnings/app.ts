/** Warnings of an app. */
import type { App } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import type { RuleContext } from '../rule-context.ts';
import { hostWarnings } from './hosts.ts';
import { colonWarnings } from './literal-colons.ts';
import { policyWarnings } from './policy.ts';

export async function appWarnings(app: App, rules: RuleContext): Promise<Warning[]> {
  return [
    ...(await policyWarnings(app, undefined, undefined, rules)),
    ...(await endpointsMissing(app, rules)),
    ...(await hostWarnings(app, rules)),
    ...colonWarnings({ gateway_path: app.gateway_path }),
  ];
}

async function endpointsMissing(app: App, { reader }: RuleContext): Promise<Warning[]> {
  if (app.routing_mode !== 'managed_endpoint') return [];
  const found = await reader.findRevisionWithoutEndpoint(app.id);
  if (found === undefined) return [];
  const what = `The current revision "${found.revision}" of the version "${found.version}" has no active endpoint`;
  return [warning('no_active_endpoint', '/routing_mode', what)];
}
