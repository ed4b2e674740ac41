/** Whether a text has the form of a UUID of any version (RFC 9562 section 4), in letters of either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
