/** The policy part `rate_limit`; rate-limit.ts has its stages, limiter.ts one limit as it applies to requests. */
import { Type } from 'typebox';
import type { FieldError } from '../../../model/errors.ts';
import { closed } from '../../../model/schema-pieces.ts';
import type { RateLimitGlobals } from '../../dependencies.ts';
import { definePart, type WarningRule } from '../../part.ts';
import { RATE_LIMIT_DOCS } from './docs.ts';
import { limitWithoutCaller, perErrors } from '../../per/per.ts';
import { rateLimitExplain } from './explain.ts';
import { compileRateLimits } from './rate-limit.ts';
import { RateLimitSchema, type RateLimitPolicy } from './schema.ts';

/** `enabled: false` switches a limit off; a limit without the field was probably forgotten. */
const limitNotEnabled: WarningRule<RateLimitPolicy> = {
  code: 'rate_limit_not_enabled',
  title: 'A rate limit has numbers, but does not say `enabled`: nothing is limited',
  advice: 'Set `enabled` to true, or to false if the numbers are kept for later',
  find: (limit, { isOwn, pointer }) => {
    if (!isOwn || limit.enabled !== undefined) return [];
    const hasNumbers = [limit.requests, limit.window_seconds, limit.burst].some(
      (field) => field !== undefined,
    );
    if (!hasNumbers) return [];
    const what = 'The rate limit has numbers but is not enabled, so nothing is limited';
    return [{ pointer: `${pointer}/enabled`, what }];
  },
};

export const RATE_LIMIT = definePart({
  name: 'rate_limit',
  schema: RateLimitSchema,
  docs: RATE_LIMIT_DOCS,
  off: { example: { enabled: false }, is: ({ enabled }) => enabled !== true },
  mayShadow: true,
  stages: [
    { name: 'ip_rate_limit', phase: 'quota' },
    { name: 'rate_limit', phase: 'quota' },
  ],
  warnings: [limitNotEnabled, limitWithoutCaller],
  explain: rateLimitExplain,
  rules: (limit, { policy, pointer, globals }) => [
    ...rateLimitErrors(limit, globals, pointer),
    ...perErrors(limit.per, policy, pointer),
  ],
  isProtective: true,
  keys: { valueFor: ({ rate_limit: plan }) => plan ?? undefined },
  settings: {
    schema: RateLimitSchema,
    of: ({ globals }) =>
      globals?.requests === undefined || globals.windowSeconds === undefined
        ? undefined
        : { enabled: true, requests: globals.requests, window_seconds: globals.windowSeconds },
    beside: {
      name: 'ip_rate_limit',
      schema: Type.Object(
        { requests: Type.Integer(), window_seconds: Type.Integer() },
        { ...closed, description: 'Applies to each client address, in addition to any `rate_limit`.' },
      ),
      of: ({ perIp }) => perIp && { requests: perIp.requests, window_seconds: perIp.windowSecs },
    },
  },
  isImplied: (_policy, globals) => globals !== undefined,
  compile: compileRateLimits,
});

/** Checks a single rate limit: that of a policy, or the plan of an API key. */
export function rateLimitErrors(
  rateLimit: RateLimitPolicy,
  globals: RateLimitGlobals | undefined,
  pointer: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (rateLimit.burst !== undefined && rateLimit.algorithm !== 'token_bucket') {
    errors.push({ pointer: `${pointer}/burst`, detail: 'is only allowed with algorithm "token_bucket"' });
  }
  if (rateLimit.enabled !== true) return errors;
  if (rateLimit.requests === undefined && globals?.requests === undefined) {
    errors.push({
      pointer: `${pointer}/requests`,
      detail: 'is required: the limit is enabled and GATEWAY_RATE_LIMIT_REQUESTS is not set',
    });
  }
  if (rateLimit.window_seconds === undefined && globals?.windowSeconds === undefined) {
    errors.push({
      pointer: `${pointer}/window_seconds`,
      detail: 'is required: the limit is enabled and GATEWAY_RATE_LIMIT_WINDOW_SECS is not set',
    });
  }
  return errors;
}
