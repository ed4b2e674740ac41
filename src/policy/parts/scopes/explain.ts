/** How a caller that lacks a scope, or that is not known, can pass `required_scopes`. */
import { isKind, operatorDetail } from '../../../model/reason.ts';
import type { PartExplain } from '../../part-explain.ts';
import { givenAuth } from '../auth/auth-of.ts';
import { INSUFFICIENT_SCOPE } from '../auth/auth-reasons.ts';
import { credentialFix } from '../auth/explain.ts';

export const scopesExplain: PartExplain<readonly string[]> = {
  fix: (denial, _value, request) => {
    if (!isKind(denial, INSUFFICIENT_SCOPE)) return credentialFix(denial, request);
    const { caller } = request.evaluation;
    const { missing } = denial.data;
    const names = missing.join(', ');
    if (givenAuth(request.policy.effective.policy)?.auth_type === 'jwt') {
      const detail = `Request a JWT with the scopes ${names}. ${operatorDetail(denial)}`;
      return { action: 'request_token', detail, value: missing };
    }
    if (caller.kind === 'mtls') {
      const detail = `Add scope ${names} to the caller ${caller.name} in auth.mtls.callers`;
      return { action: 'set_policy', detail, target: { part: 'auth' } };
    }
    return {
      action: 'add_scopes',
      detail: `Add scope ${names} to token ${caller.name}`,
      target: { type: 'token', id: caller.id },
      value: { scopes: [...caller.scopes, ...missing] },
    };
  },
};
