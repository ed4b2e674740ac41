/** Warnings of `ip_access`: lists that let no address through. */
import type { WarningRule } from '../../part.ts';
import { coversRange, rangeOf, rangesOf } from './address-ranges.ts';
import type { IpAccessPolicy } from './schema.ts';

/** Entries that allow every address, like an absent `allow`. */
const ALL = ['0.0.0.0/0', '::/0'];

export const ipDeniesAllAllowed: WarningRule<IpAccessPolicy> = {
  code: 'ip_access_denies_all',
  title: '`ip_access.deny` covers all addresses in `allow`: every request gets 403',
  advice: 'Remove the allowed addresses from `deny`, which takes precedence over `allow`',
  find: ({ allow = [], deny = [] }, { isOwn, pointer }) => {
    if (!isOwn || deny.length === 0) return [];
    const denied = rangesOf(deny);
    const isDenied = (entry: string): boolean => {
      const range = rangeOf(entry);
      return range !== undefined && coversRange(denied, range);
    };
    if (!(allow.length === 0 ? ALL : allow).every(isDenied)) return [];
    const what =
      allow.length === 0
        ? 'deny contains every address'
        : `deny contains every address of the ${allow.length} entries in allow`;
    return [{ pointer: `${pointer}/deny`, what }];
  },
};
