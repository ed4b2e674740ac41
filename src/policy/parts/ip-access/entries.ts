/** The valid entries of `ip_access` lists: addresses and blocks without host bits, each once. */
import type { FieldError } from '../../../model/errors.ts';
import { networkAddress, readBlock } from '../../../http/address.ts';
import type { RulesContext } from '../../part.ts';
import { LISTS, type IpAccessPolicy } from './schema.ts';

/** Limit of the errors reported for one list. */
const ERRORS_MAX = 100;

export function entryErrors(policy: IpAccessPolicy, { pointer }: RulesContext): FieldError[] {
  return LISTS.flatMap((list) => listErrors(policy[list] ?? [], `${pointer}/${list}`));
}

function listErrors(entries: readonly string[], pointer: string): FieldError[] {
  const errors: FieldError[] = [];
  const places = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const detail = entryError(entry, index, places);
    if (detail !== undefined) errors.push({ pointer: `${pointer}/${index}`, detail });
    if (errors.length === ERRORS_MAX) break;
  }
  return errors;
}

/** @param places indexes of the earlier entries, by their canonical form */
function entryError(entry: string, index: number, places: Map<string, number>): string | undefined {
  const block = readBlock(entry);
  if (block === undefined) {
    return 'must be an IP address or a CIDR block, such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32';
  }
  const network = networkAddress(block);
  if (network !== block.address) {
    return `must have no bits set after the first ${block.bits}: the network is ${network}/${block.bits}`;
  }
  const canonical = `${network}/${block.bits}`;
  const before = places.get(canonical);
  if (before !== undefined) return `must not repeat entry ${before}`;
  places.set(canonical, index);
  return undefined;
}
