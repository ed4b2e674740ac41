/** Deprecation (RFC 9745) and Sunset (RFC 8594) of responses from deprecated versions. */
import { httpDate } from './http-date.ts';

/** The Deprecation value for the Unix time (milliseconds) at which the resource was or will be deprecated. */
export function deprecationValue(deprecatedAtMs: number): string {
  return `@${Math.floor(deprecatedAtMs / 1000)}`;
}

/** The Sunset value for the Unix time (milliseconds) at which the resource is expected to go. */
export function sunsetValue(sunsetAtMs: number): string {
  return httpDate(sunsetAtMs);
}
