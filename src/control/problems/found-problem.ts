/** Creates problems from facts; the title follows from the code. */
import { timestamp } from '../../lib/clock.ts';
import {
  PROBLEMS,
  type Problem,
  type ProblemCode,
} from '../../management/schemas/overview/problem-schema.ts';

/** A problem of this node. */
export type FoundProblem = Omit<Problem, 'node'>;

export function found(
  severity: Problem['severity'],
  code: ProblemCode,
  detail: string,
  link: Problem['link'],
  sinceMs?: number,
): FoundProblem {
  const since = sinceMs === undefined ? null : timestamp(sinceMs);
  return { severity, code, title: PROBLEMS[code], detail, since, link };
}

/** `12 %`, or `0.4 %` below 1. */
export function percent(share: number): string {
  const value = share * 100;
  return `${value >= 1 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}
