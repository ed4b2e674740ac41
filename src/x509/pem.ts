/**
 * The documents of a text in PEM (RFC 7468), as DER. Ignores text between them, and does not look into them. Pure.
 */

/**
 * @param label of the documents, such as `CERTIFICATE`
 * @returns a document without an end is empty, and the last one
 */
export function* pemDocuments(text: string, label: string): IterableIterator<Buffer> {
  const begin = `-----BEGIN ${label}-----`;
  for (let at = text.indexOf(begin); at >= 0;) {
    const end = text.indexOf(`-----END ${label}-----`, at);
    if (end < 0) return yield Buffer.alloc(0);
    yield Buffer.from(text.slice(at + begin.length, end), 'base64');
    at = text.indexOf(begin, end);
  }
}
