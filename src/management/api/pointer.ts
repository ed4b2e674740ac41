/** JSON pointers (RFC 6901) into bodies and records. Pure. */
import { isObject } from './merge-patch.ts';

/** The value at a pointer; undefined when there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const token of pointer.split('/').slice(1)) {
    if (!isObject(found) && !Array.isArray(found)) return undefined;
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    found = Object.hasOwn(found, name) ? (found as Record<string, unknown>)[name] : undefined;
  }
  return found;
}
