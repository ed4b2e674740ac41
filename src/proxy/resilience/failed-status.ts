/**
 * Which responses mean that a backend fails, where 5xx counts as a failure. 501 (Not Implemented) and 505 (HTTP
 * Version Not Supported) refuse what a request asks for (RFC 9110 section 15.6). If they counted, any client could
 * have a target ejected or a breaker opened by using a method that the backend does not have.
 */
const REFUSALS: ReadonlySet<number> = new Set([501, 505]);

export function isFailedStatus(status: number): boolean {
  return status >= 500 && !REFUSALS.has(status);
}
