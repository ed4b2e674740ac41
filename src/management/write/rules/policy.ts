/** Policies as they are stored: without parts that are null, and only when the rules over several fields hold. */
import type { FieldError } from '../../../model/errors.ts';
import type { Policy } from '../../../model/policy.ts';
import { validatePolicy } from '../../../model/policy-rules.ts';
import type { RuleContext } from '../../context.ts';

export function policyErrors(
  policy: Policy | null | undefined,
  pointer: string,
  { policyGlobals, egress }: RuleContext,
): FieldError[] {
  if (!policy) return [];
  const errors = validatePolicy(policy, { globals: policyGlobals }, pointer);
  const url = URL.parse(policy.auth?.jwt?.jwks_uri ?? '');
  const denial = url === null ? undefined : egress.hostDenial(url.hostname, portOf(url));
  return denial === undefined
    ? errors
    : [...errors, { pointer: `${pointer}/auth/jwt/jwks_uri`, detail: `cannot be fetched: ${denial}` }];
}

function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

/** A part that is null inherits, as an absent one does; only the absent form is stored. */
export function storedPolicy(policy: Policy | null | undefined): Policy | null {
  if (policy === null || policy === undefined) return null;
  return Object.fromEntries(Object.entries(policy).filter(([, part]) => part !== null));
}
