/**
 * The parts of a policy that say how a request is carried to its backend: `timeouts` and `retries`. They deny
 * nothing and so are no stages; forward.ts and retry.ts in proxy/ read what is made of them here. What `timeouts`
 * leaves out is left to the settings, which this folder does not know.
 */
import type { RetriesPolicy, RetryCondition, TimeoutsPolicy } from '../model/policy.ts';
import type { CompiledRetries, CompiledTimeouts } from './stage.ts';

const DEFAULT_MAX = 1;
const DEFAULT_ON: ReadonlySet<RetryCondition> = new Set(['connect', 'reset']);
/** Design section 2 "Retries"; one object, so that most routes share it. */
export const DEFAULT_RETRIES: CompiledRetries = Object.freeze({ max: DEFAULT_MAX, on: DEFAULT_ON });

export function compileTimeouts(timeouts: TimeoutsPolicy | null | undefined): CompiledTimeouts | undefined {
  if (timeouts === undefined || timeouts === null) return undefined;
  return Object.freeze({
    connectMs: timeouts.connect_ms,
    firstByteMs: timeouts.first_byte_ms,
    idleMs: timeouts.idle_ms,
    totalMs: timeouts.total_ms,
  });
}

export function compileRetries(retries: RetriesPolicy | null | undefined): CompiledRetries {
  if (retries === undefined || retries === null) return DEFAULT_RETRIES;
  return Object.freeze({
    max: retries.max ?? DEFAULT_MAX,
    on: retries.on === undefined ? DEFAULT_ON : new Set(retries.on),
  });
}
