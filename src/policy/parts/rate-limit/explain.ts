/** Which limit decided: that of the client's address, the plan of the key, the policy's, or the global default. */
import { isKind } from '../../../model/reason.ts';
import { ofSettings, type PartExplain } from '../../part-explain.ts';
import { RATE_LIMITED } from './rate-limit.ts';
import type { RateLimitPolicy } from './schema.ts';

export const rateLimitExplain: PartExplain<RateLimitPolicy> = {
  decider: (stage, limit, { own, evaluation, appId, settings: { globals, perIp } }) => {
    if (stage === 'ip_rate_limit')
      return perIp && ofSettings({ requests: perIp.requests, window_seconds: perIp.windowSecs });
    const plan = evaluation.caller.keyRateLimit;
    if (plan !== null)
      return plan.enabled === false
        ? undefined
        : { level: 'key', sourceId: evaluation.caller.id, value: plan };
    if (limit !== undefined) return own;
    if (globals?.requests === undefined || globals.windowSeconds === undefined) return undefined;
    return {
      ...ofSettings({ requests: globals.requests, window_seconds: globals.windowSeconds }),
      sourceId: appId,
    };
  },
  stageOf: (denial) =>
    isKind(denial, RATE_LIMITED) && denial.data.limit === 'ip' ? 'ip_rate_limit' : undefined,
  // The two limits are asked together: the one with the shorter wait refuses as well, and is not what denied.
  wasSkipped: (stage, stoppedAt, { bothLimitsRefuse }) =>
    stage === 'ip_rate_limit' && stoppedAt === 'rate_limit' && bothLimitsRefuse,
};
