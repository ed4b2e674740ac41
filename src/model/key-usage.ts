/**
 * The usage counts of an API key: requests per UTC day, by the decision of the policy. A request that passed counts as
 * `allowed`, whatever its backend responded. A request with a valid key that was refused counts as `limited` (429) or
 * `denied` (401, 403, 405). A key that was ignored, because authentication is optional or in shadow mode, is not
 * counted.
 */

export interface UsageCounts {
  readonly allowed: number;
  readonly limited: number;
  readonly denied: number;
}

export type UsageOutcome = keyof UsageCounts;

/** The requests of one UTC day, `YYYY-MM-DD`. */
export interface UsageDay extends UsageCounts {
  readonly date: string;
}

/** The counts of one key on one day since the last report. */
export interface KeyUsage extends UsageDay {
  readonly keyId: string;
  /** Unix milliseconds of the last request with the valid key; 0 when there was none. */
  readonly lastUsedMs: number;
}

/** Names what a gateway writes at a time. */
export interface UsageName {
  /** Unique for each start of a gateway. */
  readonly writer: string;
  readonly number: number;
}

export const DAY_MS = 86_400_000;

/** The UTC day of a time, `YYYY-MM-DD`. */
export function utcDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The sum over days; integers up to 2^53 are exact. */
export function sumUsage(days: readonly UsageCounts[]): UsageCounts {
  const sum = { allowed: 0, limited: 0, denied: 0 };
  for (const { allowed, limited, denied } of days) {
    sum.allowed += allowed;
    sum.limited += limited;
    sum.denied += denied;
  }
  return sum;
}
