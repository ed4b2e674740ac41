/**
 * The slow, obvious twins of the rate-limit algorithms: logs of timestamps and arithmetic on big integers, with nothing
 * shared, nothing forgotten and nothing merged. Tests compare the fast ones with these. Time must not run backwards
 * but through `setBack`.
 */
import type { LimitRule } from '../../../src/limits/store.ts';

export interface ExactLimit {
  /** True if the request is admitted, which counts it. */
  take(nowMs: number): boolean;
  /** How many would be admitted at `nowMs`. */
  left(nowMs: number): number;
  /** The clock was set back: what counted at `fromMs` counts as much at `toMs`. */
  setBack(fromMs: number, toMs: number): void;
}

export function exactLimit(rule: LimitRule): ExactLimit {
  if (rule.algorithm === 'fixed_window') return exactFixedWindow(rule);
  return rule.algorithm === 'sliding_window' ? exactSlidingWindow(rule) : exactTokenBucket(rule);
}

function exactFixedWindow(rule: LimitRule): ExactLimit {
  let log: number[] = [];
  const windowOf = (atMs: number): number => Math.floor(atMs / rule.windowMs);
  const left = (nowMs: number): number => {
    return rule.requests - log.filter((atMs) => windowOf(atMs) === windowOf(nowMs)).length;
  };
  return {
    left,
    take(nowMs) {
      if (left(nowMs) < 1) return false;
      log = log.filter((atMs) => windowOf(atMs) === windowOf(nowMs));
      return log.push(nowMs) > 0;
    },
    // A window of the wall clock that comes again is the same one: what was counted in it last still counts.
    setBack: (fromMs, toMs) =>
      void (log = log.map((atMs) => (windowOf(atMs) === windowOf(fromMs) ? toMs : atMs))),
  };
}

function exactSlidingWindow(rule: LimitRule): ExactLimit {
  let log: number[] = [];
  const left = (nowMs: number): number => {
    log = log.filter((atMs) => atMs > nowMs - rule.windowMs);
    return rule.requests - log.length;
  };
  return {
    left,
    take: (nowMs) => left(nowMs) > 0 && log.push(nowMs) > 0,
    setBack: (fromMs, toMs) => void (log = log.map((atMs) => atMs - (fromMs - toMs))),
  };
}

function exactTokenBucket(rule: LimitRule): ExactLimit {
  // In units of 1/windowMs token, so that a millisecond brings exactly `requests`.
  const token = BigInt(rule.windowMs);
  const full = BigInt(rule.burst) * token;
  let units = full;
  let atMs = 0;
  const left = (nowMs: number): number => {
    units += BigInt(nowMs - atMs) * BigInt(rule.requests);
    atMs = nowMs;
    if (units > full) units = full;
    return Number(units / token);
  };
  return {
    left,
    take(nowMs) {
      if (left(nowMs) < 1) return false;
      units -= token;
      return true;
    },
    setBack: (fromMs, toMs) => void (atMs -= fromMs - toMs),
  };
}
