/** Warnings of the hosts of an app: names that no certificate covers, and names within the wildcard of another app. */
import { entryFor, isWildcardEntry } from '../../../http/fields/host-name.ts';
import type { App } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import type { RuleContext } from '../rule-context.ts';

export async function hostWarnings(app: App, rules: RuleContext): Promise<Warning[]> {
  return [...uncovered(app, rules.certificateNames?.()), ...(await overlapWarnings(app, rules, '/hosts'))];
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

/** @param names of all certificates of the traffic listener; undefined: it does not speak TLS */
function uncovered({ hosts }: App, names: readonly string[] | undefined): Warning[] {
  if (names === undefined) return [];
  const index = hosts.findIndex((host) => !isCovered(host, names));
  if (index < 0) return [];
  const others = hosts.filter((host) => !isCovered(host, names)).length - 1;
  const what = `No certificate of the traffic listener has the name "${hosts[index]}"`;
  const more = others === 0 ? '' : `, nor those of ${others} more of the hosts`;
  return [warning('host_without_certificate', `/hosts/${index}`, what + more)];
}

/** A wildcard of a certificate stands for one label (RFC 9525 section 6.3). */
function isCovered(host: string, names: readonly string[]): boolean {
  if (names.includes(host)) return true;
  if (isWildcardEntry(host)) return false;
  const wildcard = `*.${host.slice(host.indexOf('.') + 1)}`;
  return entryFor([wildcard], host) !== undefined && names.includes(wildcard);
}
