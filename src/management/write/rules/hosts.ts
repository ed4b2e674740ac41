/** Rules of the hosts of an app: each must be a name or a wildcard, and be listed once. */
import { parseHostEntry } from '../../../http/fields/host-name.ts';
import type { FieldError } from '../../../model/errors.ts';

/** The hosts in their stored form; adds errors about them. @param hosts as written */
export function readHosts(hosts: readonly string[], errors: FieldError[]): readonly string[] {
  const entries = new Set<string>();
  for (const [index, host] of hosts.entries()) {
    const pointer = `/hosts/${index}`;
    const parsed = parseHostEntry(host);
    if ('error' in parsed) errors.push({ pointer, detail: parsed.error });
    else if (entries.has(parsed.entry)) errors.push({ pointer, detail: `repeats "${parsed.entry}"` });
    else entries.add(parsed.entry);
  }
  return [...entries];
}
