/**
 * Explains which limit decided: that of the client's address, the plan of the key, the policy's, or the global
 * default.
 */
import { isKind } from '../../../model/reason.ts';
import { ofSettings, type PartExplain, type ShownCounter } from '../../part-explain.ts';
import { ADDRESS_RULE, KEY_RULE, RATE_LIMITED } from './rate-limit.ts';
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
  shownCounter: ({ store, id, subject }) => {
    if (store !== 'limits') return undefined;
    if (id.startsWith(ADDRESS_RULE)) return { kind: 'ip', id, subject };
    return id.startsWith(KEY_RULE) ? planCounter(id, subject) : undefined;
  },
  announcedLimit: ({ limit: decision, limiter }, deciderOf) => {
    if (decision === undefined) return undefined;
    const isAddress = limiter?.kind === 'ip';
    const decider = deciderOf(isAddress ? 'ip_rate_limit' : 'rate_limit');
    const rule = decider?.value as RateLimitPolicy | null | undefined;
    const per = rule?.per === undefined || rule.per === 'scope' ? '' : ` per ${rule.per}`;
    const level = decider?.level ?? null;
    return {
      kind: isAddress ? 'ip' : level === 'key' ? 'key' : 'policy',
      counter: isAddress ? 'client per ip' : `${level}:${decider?.sourceId ?? null}${per}`,
      algorithm: rule?.algorithm ?? 'fixed_window',
      decision,
    };
  },
  stageOf: (denial) =>
    isKind(denial, RATE_LIMITED) && denial.data.limit === 'ip' ? 'ip_rate_limit' : undefined,
  // Both limits are asked together: the one with the shorter wait refuses as well, but it does not decide.
  wasSkipped: (stage, stoppedAt, { bothLimitsRefuse }) =>
    stage === 'ip_rate_limit' && stoppedAt === 'rate_limit' && bothLimitsRefuse,
};

/** The counter of a key's plan: the subject begins with the key. */
function planCounter(id: string, subject: string): ShownCounter {
  const [keyId = ''] = subject.split(' ', 1);
  const per = id.indexOf(' ');
  return {
    kind: 'key',
    id: `key:${keyId}${per < 0 ? '' : id.slice(per)}`,
    subject: subject.slice(keyId.length + 1),
  };
}
