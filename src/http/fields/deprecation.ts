/**
 * The fields of responses from a deprecated version: Deprecation (RFC 9745), Sunset (RFC 8594) and the link to the
 * successor (RFC 8288, relation type of RFC 5829).
 */
import { httpDate } from '../../lib/clock.ts';

/**
 * The Deprecation line with its CRLF.
 * @param deprecatedAtSecs Unix time in seconds at which the version was or will be deprecated
 */
export function deprecationField(deprecatedAtSecs: number): string {
  return `Deprecation: @${Math.floor(deprecatedAtSecs)}\r\n`;
}

/**
 * The Sunset line with its CRLF.
 * @param sunsetAtSecs Unix time in seconds at which the version is expected to be removed
 */
export function sunsetField(sunsetAtSecs: number): string {
  return `Sunset: ${httpDate(sunsetAtSecs * 1000)}\r\n`;
}

/**
 * The Link line to the successor with its CRLF.
 * @param uriReference as in RFC 3986, so it contains no `>`
 */
export function successorField(uriReference: string): string {
  return `Link: <${uriReference}>; rel="successor-version"\r\n`;
}
