/** Quoted strings in fields that the gateway makes: RFC 9110 section 5.6.4 and RFC 9651 section 3.3.3. */

/**
 * `text` as a quoted string. Only visible ASCII and SP may stand in both grammars, so everything else becomes "?":
 * the text often comes from configuration or from a token, and must not be able to end the string or the line.
 */
export function quoted(text: string): string {
  const safe = text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&');
  return `"${safe}"`;
}
