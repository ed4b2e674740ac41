/**
 * For which names certificates are ordered: exact hosts of apps, as far as the settings allow them, that no certificate
 * in a file has. A wildcard cannot be had with the challenges that the gateway answers. Pure functions.
 */
import { isWildcardEntry } from '../../http/fields/host-name.ts';
import type { App } from '../../model/resources.ts';

export interface WantedRules {
  /** Of the settings; none: every name. */
  readonly allowed: readonly string[];
  /** Names of the certificates in files, with wildcards. */
  readonly inFiles: readonly string[];
}

export function wantedNames(apps: Iterable<Pick<App, 'hosts'>>, rules: WantedRules): ReadonlySet<string> {
  const names = new Set<string>();
  const inFiles = new Set(rules.inFiles);
  for (const { hosts } of apps)
    for (const host of hosts) if (isWanted(host, rules.allowed, inFiles)) names.add(host);
  return names;
}

function isWanted(host: string, allowed: readonly string[], inFiles: ReadonlySet<string>): boolean {
  if (isWildcardEntry(host) || inFiles.has(host)) return false;
  // A wildcard of a certificate stands for one label.
  if (inFiles.has(`*${host.slice(Math.max(host.indexOf('.'), 0))}`)) return false;
  return isAllowed(host, allowed);
}

/** @param allowed names, and `*.` with a name behind it for all names below it; none: every name */
export function isAllowed(host: string, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  return allowed.some((entry) => (entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : entry === host));
}
