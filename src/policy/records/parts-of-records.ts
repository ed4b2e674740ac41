/** The walks over the parts for other records (part-records.ts). */
import type { PolicyValues } from '../../model/policy.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import type { TrustedFiles } from './part-records.ts';
import { PARTS } from '../registry.ts';

const OF_KEYS = PARTS.filter(({ keys }) => keys !== undefined);
const TRUSTING = PARTS.filter((part) => part.trustedFiles !== undefined);

/** Whether callers of a route with this policy send API keys. */
export function takesKeys(policy: PolicyValues): boolean {
  return OF_KEYS.some(({ keys }) => keys?.takesKeys?.(policy) === true);
}

/** Whether the parts let the caller of a valid key pass. */
export function admitsKey(policy: PolicyValues, key: StoredApiKey): boolean {
  return OF_KEYS.every(({ name, keys }) => keys?.admits?.(policy[name] ?? undefined, key) ?? true);
}

/** The files that the client certificates of a route with this policy are verified with. */
export function trustedFilesOf(policy: PolicyValues): TrustedFiles[] {
  return TRUSTING.flatMap((part) => {
    const value = policy[part.name] ?? undefined;
    return (value === undefined ? undefined : part.trustedFiles?.(value)) ?? [];
  });
}
