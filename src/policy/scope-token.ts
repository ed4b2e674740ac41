/** The form of a scope in header fields. */

/** RFC 6749 section 3.3 `scope-token`: visible ASCII without `"` and `\`. */
export function isScopeToken(text: string): boolean {
  if (text === '') return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code <= 0x20 || code >= 0x7f || code === 0x22 || code === 0x5c) return false;
  }
  return true;
}
