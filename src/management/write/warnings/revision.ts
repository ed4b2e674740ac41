/** Warnings of a revision: its place in the traffic of its version, its backend, its endpoints, its policy. */
import { escapeToken } from '../../../lib/text/json-pointer.ts';
import type { App, Revision, Version } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import { mergePolicy } from '../../../config/merge-policy.ts';
import { PARTS } from '../../../policy/registry.ts';
import type { RuleContext } from '../rule-context.ts';
import { colonWarnings } from './literal-colons.ts';
import { policyWarnings } from './policy.ts';

export interface RevisionPlace {
  readonly app: App;
  readonly version: Version;
}

/** The default of `traffic_weight`. */
const WEIGHT_DEFAULT = 100;

/**
 * @param previous the revision before the write; undefined for a new one
 * @param sent see `Resource.warnings`
 */
export async function revisionWarnings(
  { app, version }: RevisionPlace,
  revision: Revision,
  previous: Revision | undefined,
  rules: RuleContext,
  sent?: Readonly<Record<string, unknown>>,
): Promise<Warning[]> {
  const joins = sent !== undefined && sent['traffic_weight'] === undefined && previous?.is_current !== true;
  return [
    ...(await policyWarnings(app, revision, undefined, rules)),
    ...backendWarnings(app, revision, rules),
    ...colonWarnings({ backend_base_path: revision.backend_base_path }),
    ...(revision.is_current ? currentWarnings(version) : []),
    ...(await weightWarnings(version, revision.is_current || previous?.is_current === true, rules)),
    ...(previous === undefined && !revision.is_current ? await idleWarnings(version, rules) : []),
    ...(joins && revision.is_current ? await sharingWarnings(version, revision, rules) : []),
    ...(revision.is_current ? await endpointWarnings(app, version, revision, '/is_current', rules) : []),
  ];
}

/** Warnings about a traffic split, whose record has a field for each current revision. */
export async function trafficWarnings(
  { app, version }: RevisionPlace,
  revisions: readonly Revision[],
  rules: RuleContext,
): Promise<Warning[]> {
  const found = await weightWarnings(version, true, rules, '');
  if (version.status === 'retired') {
    found.push(warning('version_is_retired', '', `The version "${version.version}" is retired`));
  }
  for (const revision of revisions) {
    found.push(
      ...(await endpointWarnings(app, version, revision, `/${escapeToken(revision.revision)}`, rules)),
    );
  }
  return found;
}

/** Warnings about a version after one of its revisions was deleted. */
export function revisionRemovalWarnings(
  { version }: RevisionPlace,
  removed: Revision,
  rules: RuleContext,
): Promise<Warning[]> {
  return weightWarnings(version, removed.is_current, rules, '');
}

/** Warns when the app serves only registered endpoints and the revision has no active one. */
export async function endpointWarnings(
  app: App,
  version: Version,
  revision: Revision,
  pointer: string,
  { reader }: RuleContext,
): Promise<Warning[]> {
  if (app.routing_mode !== 'managed_endpoint' || version.status === 'retired') return [];
  if (!revision.is_current || (await reader.hasActiveEndpoint(revision.id))) return [];
  const what = `The revision "${revision.revision}" is current but has no active endpoint`;
  return [warning('no_active_endpoint', pointer, what)];
}

function backendWarnings(app: App, revision: Revision, rules: RuleContext): Warning[] {
  const { clientCertificateNames, readsTargetFiles } = rules;
  const { backend_scheme: scheme, backend_port: port, backend_tls: tls, discovery } = revision;
  const found: Warning[] = [];
  // In other sources each target has its own port.
  const isPortUsed = discovery === null || discovery.type === 'dns';
  if (isPortUsed && ((scheme === 'https' && port === 80) || (scheme === 'http' && port === 443))) {
    const what = `The gateway connects to the backend with ${scheme} on port ${port}`;
    found.push(warning('scheme_and_port_differ', '/backend_port', what));
  }
  if (scheme === 'http' && tls !== null) {
    const what = 'The backend_scheme is "http", so backend_tls has no effect';
    found.push(warning('tls_settings_unused', '/backend_tls', what));
  }
  if (scheme === 'https' && tls?.verify === false && tls.ca !== undefined) {
    const what = 'With verify false any certificate of the backend is accepted, and ca has no effect';
    found.push(warning('authority_not_used', '/backend_tls/verify', what));
  }
  if (discovery?.type === 'file' && readsTargetFiles === false) {
    const what = `The file "${discovery.path}" is not read`;
    found.push(warning('discovery_folder_not_set', '/discovery', what));
  }
  const { policy } = mergePolicy(app, revision);
  for (const part of PARTS)
    found.push(...(part.revisionWarnings?.(policy[part.name] ?? undefined, revision) ?? []));
  const name = tls?.client_certificate;
  if (name !== undefined && clientCertificateNames?.().includes(name) === false) {
    const what = `There is no client certificate "${name}" here`;
    found.push(warning('client_certificate_missing', '/backend_tls/client_certificate', what));
  }
  return found;
}

function currentWarnings({ status, version }: Version): Warning[] {
  if (status !== 'retired') return [];
  return [warning('version_is_retired', '/is_current', `The version "${version}" is retired`)];
}

/** Warns of a new revision that is not current, when no other is: the first one is usually meant to serve. */
async function idleWarnings({ id, status, version }: Version, { reader }: RuleContext): Promise<Warning[]> {
  if (status === 'retired' || (await reader.currentWeights(id)).count > 0) return [];
  return [
    warning('no_current_revision', '/is_current', `The version "${version}" has no current revision yet`),
  ];
}

/** Warns of a revision that becomes current with the default weight, where others already have the traffic. */
async function sharingWarnings(
  { id, status, version }: Version,
  { revision, traffic_weight: own }: Revision,
  { reader }: RuleContext,
): Promise<Warning[]> {
  if (own !== WEIGHT_DEFAULT || status === 'retired') return [];
  const { weight } = await reader.currentWeights(id);
  if (weight <= own) return [];
  const percent = Math.max(1, Math.round((100 * own) / weight));
  const what = `The revision "${revision}" gets ${percent} % of the traffic of the version "${version}", beside its other current revisions`;
  return [warning('shares_traffic', '/traffic_weight', what)];
}

/** @param isConcerned whether the revision is or was current; others do not change the traffic */
async function weightWarnings(
  { id, status, version }: Version,
  isConcerned: boolean,
  { reader }: RuleContext,
  pointer?: string,
): Promise<Warning[]> {
  if (!isConcerned || status === 'retired') return [];
  const { count, weight } = await reader.currentWeights(id);
  if (count === 0) {
    const what = `The version "${version}" no longer has a current revision`;
    return [warning('no_current_revision', pointer ?? '/is_current', what)];
  }
  if (weight > 0) return [];
  const which = count === 1 ? 'The only current revision' : `All ${count} current revisions`;
  const what = `${which} of the version "${version}" ${count === 1 ? 'has' : 'have'} the weight 0`;
  return [warning('all_weights_zero', pointer ?? '/traffic_weight', what)];
}
