/** The stored form of policies: without parts that are null, and only if they meet the rules over several fields. */
import type { FieldError } from '../../../model/errors.ts';
import type { PolicyValues } from '../../../model/policy.ts';
import { validatePolicy } from '../../../policy/policy-rules.ts';
import type { RuleContext } from '../rule-context.ts';

export function policyErrors(
  policy: PolicyValues | null | undefined,
  pointer: string,
  { policyGlobals: globals, egress }: RuleContext,
  endpointParameters?: readonly string[],
): FieldError[] {
  if (!policy) return [];
  const hostDenial = (host: string, port: number) => egress.hostDenial(host, port);
  return validatePolicy(
    policy,
    { globals, hostDenial, ...(endpointParameters && { endpointParameters }) },
    pointer,
  );
}

/** A part that is null inherits, as an absent one does; only the absent form is stored. */
export function storedPolicy(policy: PolicyValues | null | undefined): PolicyValues | null {
  if (policy === null || policy === undefined) return null;
  return Object.fromEntries(Object.entries(policy).filter(([, part]) => part !== null));
}
