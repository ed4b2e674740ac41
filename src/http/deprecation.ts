/** Deprecation (RFC 9745) and Sunset (RFC 8594): what a response from a deprecated version tells its client. */
import { httpDate } from '../kernel/clock.ts';

/** The Deprecation line with its CRLF; Unix time in seconds, at which the version was or will be deprecated. */
export function deprecationField(deprecatedAtSecs: number): string {
  return `Deprecation: @${Math.floor(deprecatedAtSecs)}\r\n`;
}

/** The Sunset line with its CRLF; Unix time in seconds, at which the version is expected to go. */
export function sunsetField(sunsetAtSecs: number): string {
  return `Sunset: ${httpDate(sunsetAtSecs * 1000)}\r\n`;
}
