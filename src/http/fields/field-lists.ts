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

/** Fields as an object, with lists for repeated names. */
export function groupedFields(fields: readonly string[]): Record<string, string | string[]> {
  // Without a prototype, since `constructor` is a valid field name.
  const object = Object.create(null) as Record<string, string | string[]>;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] as string;
    const value = fields[index + 1] as string;
    const known = object[name];
    if (known === undefined) object[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else object[name] = [known, value];
  }
  return object;
}
