/** The settings that policies are compiled with, in every thread that compiles them. Pure. */
import type { PolicyDependencies, RateLimitGlobals } from '../../policy/dependencies.ts';
import type { Settings } from '../../settings/settings.ts';

type PolicySettings = Pick<
  PolicyDependencies,
  'jwtDefaults' | 'globals' | 'perIp' | 'ipv6PrefixBits' | 'authFailuresPerMinute' | 'maxBodyBytes'
>;

export function policySettings(settings: Settings): PolicySettings {
  return {
    jwtDefaults: settings.jwt,
    globals: globalsOf(settings),
    perIp: settings.perIpRateLimit,
    ipv6PrefixBits: settings.ipv6PrefixBits,
    authFailuresPerMinute: settings.proxy.authFailuresPerMinute,
    maxBodyBytes: settings.proxy.maxBodyBytes,
  };
}

export function globalsOf({ rateLimit }: Settings): RateLimitGlobals | undefined {
  return rateLimit === undefined
    ? undefined
    : { requests: rateLimit.requests, windowSeconds: rateLimit.windowSecs };
}
