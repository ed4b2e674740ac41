/** JSON pointers (RFC 6901). Pure. */

/** A name as a reference token. */
export function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The name that a reference token stands for. */
export function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The names that a pointer consists of. */
export function tokensOf(pointer: string): string[] {
  return pointer.split('/').slice(1).map(unescapeToken);
}

/** The value at a pointer; undefined when there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const name of tokensOf(pointer)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}
