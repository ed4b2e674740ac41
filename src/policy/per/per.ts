/**
 * `per`: whose requests a limit or a cap counts together. The field, its rule and its warning, for the parts that have
 * it; limit-subject.ts makes a function of the request from it.
 */
import type { FieldError } from '../../model/errors.ts';
import type { PolicyValues } from '../../model/policy.ts';
import { authOf, givenAuth } from '../parts/auth/auth-of.ts';
import type { WarningRule } from '../part.ts';

/** @param policy policy of the same level, which may say how callers authenticate */
export function perErrors(per: string | undefined, policy: PolicyValues, pointer: string): FieldError[] {
  const auth = givenAuth(policy);
  if (per?.startsWith('claim:') !== true || auth === undefined || auth.auth_type === 'jwt') return [];
  const detail = `"${per}" needs auth_type "jwt", but the policy has "${auth.auth_type}"`;
  return [{ pointer: `${pointer}/per`, detail }];
}

/** Checked for endpoints only: below an app or a revision, another level may still identify callers. */
export const limitWithoutCaller: WarningRule<{ readonly per?: string }> = {
  code: 'limit_without_caller',
  title:
    'A limit counts per key or claim, but the route does not identify callers in this way: the limit counts per client address',
  advice: 'Let the route authenticate callers, or count per `ip`',
  find: (value, { effective, endpoint, isOwn, pointer }) => {
    if (endpoint === undefined || !isOwn) return [];
    const type = authOf(effective.policy)?.auth_type ?? 'none';
    const per = value?.per ?? '';
    const isUnknown = per === 'api_key' ? type === 'none' : per.startsWith('claim:') && type !== 'jwt';
    if (!isUnknown) return [];
    const what = `The route has no callers to count per "${per}", so the limit counts per client address`;
    return [{ pointer: `${pointer}/per`, what }];
  },
};
