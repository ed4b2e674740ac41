/**
 * Fields of HTTP/2 (RFC 9113 section 8.2): names and values alternating, names in lower case, one character per
 * byte; and their conversion from lines of HTTP/1.1. Pure functions.
 */

/** RFC 9113 section 8.2.2: these belong to connections of HTTP/1.1. */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The fields of lines, in their order, without those that belong to a connection.
 * @param lines each `Name: value` and CRLF, as `FieldSection.line` writes them
 */
export function fieldsOfLines(lines: string): string[] {
  const fields: string[] = [];
  for (let from = 0; from < lines.length;) {
    const end = lines.indexOf('\r\n', from);
    const colon = lines.indexOf(':', from);
    const name = lines.slice(from, colon).toLowerCase();
    if (!CONNECTION_FIELDS.has(name)) fields.push(name, lines.slice(colon + 2, end));
    from = end + 2;
  }
  return fields;
}
