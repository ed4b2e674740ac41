/**
 * What a limit lets pass at the least, of requests of which is known when they were sent and when their answers were
 * there, and not when between the two they were counted. For tests that a limit is used up on a machine that may be too
 * busy to ask all the time.
 *
 * Every request counts as one that comes when it was sent and takes its permit when its answer was there, and of
 * requests that overlap one that is admitted only the first counts. So the n-th admission here is never earlier than
 * the n-th of a limiter that refuses only what it has to: what that refuses has n permits used before.
 */

export interface AskedRequest {
  /** Milliseconds of one clock. */
  readonly sentMs: number;
  readonly answeredMs: number;
}

export interface ReferenceLimit {
  readonly algorithm: 'fixed_window' | 'sliding_window' | 'token_bucket';
  /** Per window; a bucket holds as many. */
  readonly requests: number;
  readonly windowMs: number;
}

/** Times are noted as whole milliseconds, by clients and by the counters. */
const ROUNDING_MS = 2;

/** Whether a request may pass that was sent and answered then; `taken` has the times of those that passed before. */
type Rule = (request: AskedRequest, taken: readonly number[]) => boolean;

/** How many of the requests pass at the least; fixed windows begin at multiples of their length. */
export function leastAdmitted(requests: readonly AskedRequest[], limit: ReferenceLimit): number {
  const rule = RULES[limit.algorithm](limit);
  const taken: number[] = [];
  for (const request of requests.toSorted((a, b) => a.answeredMs - b.answeredMs)) {
    if (request.sentMs < (taken.at(-1) ?? -Infinity)) continue;
    if (rule(request, taken)) taken.push(request.answeredMs);
  }
  return taken.length;
}

const RULES: Readonly<Record<ReferenceLimit['algorithm'], (limit: ReferenceLimit) => Rule>> = {
  fixed_window: ({ requests, windowMs }) => {
    const windowOf = (ms: number): number => Math.floor(ms / windowMs);
    return ({ sentMs, answeredMs }, taken) => {
      const window = windowOf(sentMs - ROUNDING_MS);
      if (window !== windowOf(answeredMs + ROUNDING_MS)) return false;
      return taken.filter((ms) => windowOf(ms) === window).length < requests;
    };
  },
  sliding_window:
    ({ requests, windowMs }) =>
    ({ sentMs }, taken) =>
      sentMs - ROUNDING_MS >= (taken.at(-requests) ?? -Infinity) + windowMs || taken.length < requests,
  token_bucket:
    ({ requests, windowMs }) =>
    ({ sentMs }, taken) => {
      let tokens = requests;
      let atMs = taken[0] ?? sentMs;
      for (const ms of [...taken, sentMs - ROUNDING_MS]) {
        tokens = Math.min(requests, tokens + ((ms - atMs) * requests) / windowMs) - 1;
        atMs = ms;
      }
      return tokens >= 0;
    },
};
