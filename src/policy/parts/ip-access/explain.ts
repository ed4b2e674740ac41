/** Explains which entry of `ip_access` decided, and what to change for a refused address. */
import { isKind } from '../../../model/reason.ts';
import type { PartExplain, PartFix } from '../../part-explain.ts';
import { accessTable, decide, type AccessTable } from './decision.ts';
import { IP_DENIED } from './ip-denied.ts';
import { ENTRIES_MAX, type IpAccessPolicy } from './schema.ts';

export const ipAccessExplain: PartExplain<IpAccessPolicy, AccessTable> = {
  // The lists may be long: the value is the list that decided with its entry, null for none.
  decider: (_stage, _value, { own, clientIp, prepared }) => {
    if (own === undefined || prepared === undefined) return undefined;
    const { list, entry } = decide(prepared, clientIp);
    return { ...own, value: { [list]: entry } };
  },
  fix: (denial, value = {}) => (isKind(denial, IP_DENIED) ? opened(value, denial.data.address) : undefined),
};

function opened({ allow = [], deny = [] }: IpAccessPolicy, address: string): PartFix {
  const has = (entry: string): boolean => decide(accessTable({ allow: [entry] }), address).allowed;
  const removed = deny.filter(has);
  const isMissing = allow.length > 0 && !allow.some(has);
  const steps = [
    ...(removed.length > 0 ? [`remove ${removed.join(', ')} from ip_access.deny`] : []),
    ...(isMissing ? [`add ${address} to ip_access.allow`] : []),
  ].join(' and ');
  const detail = steps.charAt(0).toUpperCase() + steps.slice(1);
  const change = { action: 'set_policy', detail, target: { part: 'ip_access' } } as const;
  const added = isMissing ? [...allow, address] : allow;
  if (added.length > ENTRIES_MAX) return change;
  return { ...change, value: { ip_access: { allow: added, deny: deny.filter((entry) => !has(entry)) } } };
}
