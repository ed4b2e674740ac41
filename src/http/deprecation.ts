/**
 * What a response from a version that is on its way out tells its client: Deprecation (RFC 9745), Sunset (RFC 8594)
 * and the link to what takes its place (RFC 8288, relation type of RFC 5829).
 */
import { httpDate } from '../lib/clock.ts';

/** The Deprecation line with its CRLF; Unix time in seconds, at which the version was or will be deprecated. */
export function deprecationField(deprecatedAtSecs: number): string {
  return `Deprecation: @${Math.floor(deprecatedAtSecs)}\r\n`;
}

/** The Sunset line with its CRLF; Unix time in seconds, at which the version is expected to go. */
export function sunsetField(sunsetAtSecs: number): string {
  return `Sunset: ${httpDate(sunsetAtSecs * 1000)}\r\n`;
}

/** The Link line to the successor with its CRLF; a URI reference (RFC 3986), which has no `>`. */
export function successorField(uriReference: string): string {
  return `Link: <${uriReference}>; rel="successor-version"\r\n`;
}
