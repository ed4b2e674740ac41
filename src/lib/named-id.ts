/**
 * Ids that follow from a name: UUIDv8 of a SHA-256 (RFC 9562 sections 5.8 and B.2). The same name gives the same id
 * on every machine and after every restart.
 */
import { createHash } from 'node:crypto';

/** Keeps ids of this purpose apart from other hashes of the same names. */
const NAMESPACE = 'headgate:declared\0';

/** @param name texts without NUL, from the outermost in; the same texts give the same id */
export function namedId(name: readonly string[]): string {
  const hash = createHash('sha256')
    .update(NAMESPACE + name.join('\0'))
    .digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
