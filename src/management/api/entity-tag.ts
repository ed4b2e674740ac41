/**
 * Entity tags and preconditions (RFC 9110 sections 8.8.3, 13.1.1 and 13.1.2). The tag is a digest of the served
 * record without `last_used_at`, which traffic changes all the time and which no write depends on.
 */
import { createHash } from 'node:crypto';
import { fail, type Failure } from './failure.ts';

const ENTITY_TAG_LIST =
  /^\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*\s*$/;
const ENTITY_TAG = /(?:W\/)?"[^"]*"/g;

/** @param record in the served form, without secrets */
export function entityTag(record: object): string {
  const { last_used_at: _ignored, ...rest } = record as Record<string, unknown>;
  return `"${createHash('sha256').update(sortedJson(rest)).digest('base64url').slice(0, 22)}"`;
}

/** If-Match, with the strong comparison: 412 when it names neither the current tag nor `*`. */
export function checkIfMatch(header: string | undefined, current: string): Failure | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  if (ENTITY_TAG_LIST.test(header) && header.match(ENTITY_TAG)?.includes(current) === true) return undefined;
  return fail('precondition_failed', `If-Match does not name the current ETag ${current}`);
}

/** If-None-Match, with the weak comparison: true when the client already has what it would get. */
export function isNotModified(header: string | undefined, current: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  if (!ENTITY_TAG_LIST.test(header)) return false;
  return header.match(ENTITY_TAG)?.some((tag) => tag.replace(/^W\//, '') === current) === true;
}

/** JSON with sorted keys: equal records always give the same text. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
