/** Warnings of the hosts of an app: names that no certificate covers, and names within the wildcard of another app. */
import { entryFor, isWildcardEntry } from '../../../http/fields/host-name.ts';
import type { App } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import type { RuleContext } from '../rule-context.ts';

export async function hostWarnings(app: App, rules: RuleContext): Promise<Warning[]> {
  return [...uncovered(app, rules), ...(await overlapWarnings(app, rules, '/hosts'))];
}

/** @param pointer to the field that is written: of the app, or of a version below it */
export async function overlapWarnings(
  { id, slug, hosts }: App,
  { reader }: RuleContext,
  pointer: string,
): Promise<Warning[]> {
  if (hosts.length === 0) return [];
  const found = await reader.findHostOverlap(id, hosts);
  if (found === undefined) return [];
  const [narrow, wide] = found.isNarrower ? [found.slug, slug] : [slug, found.slug];
  const own = found.isNarrower ? `a wildcard of the app "${slug}"` : `a host of the app "${slug}"`;
  const what =
    `The host "${found.host}" of the app "${found.slug}" and ${own} are for the same requests at "${found.gateway_path}": ` +
    `"${narrow}" gets them, "${wide}" does not`;
  return [warning('host_shadowed', pointer, what)];
}

function uncovered({ hosts }: App, { certificateNames, ordered }: RuleContext): Warning[] {
  // undefined: the traffic listener does not speak TLS.
  const names = certificateNames?.();
  if (names === undefined) return [];
  const missing = hosts.filter((host) => !isCovered(host, names) && ordered?.isOrdered(host) !== true);
  const isWildcard = (host: string): boolean => ordered?.areOrdered === true && isWildcardEntry(host);
  return [
    ...firstOf(hosts, missing.filter(isWildcard), 'host_wildcard_without_certificate'),
    ...firstOf(
      hosts,
      missing.filter((host) => !isWildcard(host)),
      'host_without_certificate',
    ),
  ];
}

function firstOf(
  hosts: readonly string[],
  missing: readonly string[],
  code: 'host_wildcard_without_certificate' | 'host_without_certificate',
): Warning[] {
  const [first] = missing;
  if (first === undefined) return [];
  const others = missing.length - 1;
  const what = `No certificate of the traffic listener has the name "${first}"`;
  const more = others === 0 ? '' : `, and the same is true for ${others} more of the hosts`;
  return [warning(code, `/hosts/${hosts.indexOf(first)}`, what + more)];
}

/** A wildcard of a certificate matches one label (RFC 9525 section 6.3). */
function isCovered(host: string, names: readonly string[]): boolean {
  if (names.includes(host)) return true;
  if (isWildcardEntry(host)) return false;
  const wildcard = `*.${host.slice(host.indexOf('.') + 1)}`;
  return entryFor([wildcard], host) !== undefined && names.includes(wildcard);
}
