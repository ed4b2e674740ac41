/** How long an exchange spent where, from its timeline. Pure. */
import { toMicroseconds } from '../../lib/clock.ts';
import type { ExchangeTimeline } from '../../proxy/timeline.ts';
import type { ExplainedTimes } from '../schema.ts';

interface Span {
  readonly startedMs: number;
  readonly endMs: number;
}

/** The times add up to the duration. What was not reached is null. */
export function stageTimes(timeline: ExchangeTimeline, { startedMs, endMs }: Span): ExplainedTimes {
  const { matchedMs, decidedMs, attempts } = timeline;
  const first = attempts[0];
  const last = attempts.at(-1);
  const marks: [name: keyof ExplainedTimes['groups'], beginMs: number][] = [
    ['matching', startedMs],
    ['policy', matchedMs],
    ['waiting', decidedMs],
    ['earlier_attempts', first === last ? -1 : (first?.startedMs ?? -1)],
    ['connect', last?.startedMs ?? -1],
    ['first_byte', last?.sentMs ?? -1],
    // After a failed attempt, the answer comes from the gateway.
    ['body', last?.endedMs ?? -1],
  ];
  const groups: Record<string, number | null> = {};
  for (const [index, [name, beginMs]] of marks.entries()) {
    const next = marks.slice(index + 1).find(([, begin]) => begin >= 0)?.[1] ?? endMs;
    groups[name] = beginMs < 0 ? null : toMicroseconds(Math.max(0, next - beginMs));
  }
  return {
    total: toMicroseconds(endMs - startedMs),
    groups: groups as ExplainedTimes['groups'],
    attempts: attempts.map((attempt) => ({
      revision_id: attempt.revisionId,
      revision: attempt.revision,
      target: attempt.target,
      started_after: toMicroseconds(attempt.startedMs - startedMs),
      duration: toMicroseconds((attempt.endedMs < 0 ? endMs : attempt.endedMs) - attempt.startedMs),
      status: attempt.status === 0 ? null : attempt.status,
      failure: attempt.failure === '' ? null : attempt.failure,
    })),
  };
}
