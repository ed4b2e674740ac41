/**
 * Decides for which names certificates are ordered: exact hosts of apps that the settings allow and that no
 * certificate from a file covers. The supported challenges cannot prove a wildcard. Pure functions.
 */
import { isWildcardEntry } from '../../http/fields/host-name.ts';
import type { App } from '../../model/resources.ts';

export interface WantedRules {
  /** Names allowed by the settings; empty: every name. */
  readonly allowed: readonly string[];
  /** Names in certificates from files, with wildcards. */
  readonly inFiles: readonly string[];
}

/** The names with the ids of their apps; a name of several apps belongs to the first one. */
export type WantedNames = ReadonlyMap<string, string>;

export function wantedNames(apps: Iterable<Pick<App, 'id' | 'hosts'>>, rules: WantedRules): WantedNames {
  const names = new Map<string, string>();
  const inFiles = new Set(rules.inFiles);
  for (const { id, hosts } of apps)
    for (const host of hosts)
      if (!names.has(host) && isWanted(host, rules.allowed, inFiles)) names.set(host, id);
  return names;
}

function isWanted(host: string, allowed: readonly string[], inFiles: ReadonlySet<string>): boolean {
  if (isWildcardEntry(host) || inFiles.has(host)) return false;
  // A wildcard of a certificate stands for one label.
  if (inFiles.has(`*${host.slice(Math.max(host.indexOf('.'), 0))}`)) return false;
  return isAllowed(host, allowed);
}

/** @param allowed names, and `*.` followed by a name for all names below it; empty: every name */
export function isAllowed(host: string, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  return allowed.some((entry) => (entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : entry === host));
}
