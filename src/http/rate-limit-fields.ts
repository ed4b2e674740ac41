/**
 * Fields that tell a client about its limit: RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10)
 * and the older X-RateLimit-* family that most clients read. Values only; who sends them decides where they go.
 */
import { quoted } from './structured-string.ts';

/** The RateLimit-Policy value: `quota` requests per window of `windowSeconds`. Fixed for a limit, so made once. */
export function rateLimitPolicyValue(policyName: string, quota: number, windowSeconds: number): string {
  return `${quoted(policyName)};q=${quota};w=${windowSeconds}`;
}

/** The RateLimit value: `remaining` requests now, and more after `resetSeconds` (whole seconds). */
export function rateLimitValue(policyName: string, remaining: number, resetSeconds: number): string {
  return `${quoted(policyName)};r=${remaining};t=${resetSeconds}`;
}

/** The three X-RateLimit lines, each with its CRLF; `resetSeconds` counts from now. */
export function xRateLimitLines(limit: number, remaining: number, resetSeconds: number): string {
  return `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${resetSeconds}\r\n`;
}
