/**
 * Secrets inside of policies are write-only: `auth.jwt.secret` and the private members of JWK keys (RFC 7517,
 * RFC 7518 section 6) are served, and audited, as `********`. A PATCH or PUT that brings the mask back keeps the
 * stored value, so that a client can read a policy, change a part, and send the whole. Pure.
 */
import { isObject } from '../api/merge-patch.ts';
import { valueAt } from '../api/pointer.ts';

export const MASK = '********';

const SECRET_NAMES: ReadonlySet<string> = new Set(['secret', 'k', 'd', 'p', 'q', 'dp', 'dq', 'qi', 'oth']);

/** A copy of a policy (or of anything that holds policies) with its secrets masked. */
export function maskSecrets<T>(value: T): T {
  return mask(value, false) as T;
}

/** Looks for secret names only below `jwt`: anywhere else, `d` or `k` may be a label or a claim. */
function mask(value: unknown, inJwt: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => mask(item, inJwt));
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === 'claims_to_headers') copy[name] = member;
    else if (inJwt && SECRET_NAMES.has(name)) copy[name] = MASK;
    else copy[name] = mask(member, inJwt || name === 'jwt');
  }
  return copy;
}

/**
 * A copy of what a client sent in which every masked secret is the stored one from the same place. A mask with
 * nothing stored under it stays, and then fails validation.
 */
export function restoreSecrets(sent: unknown, stored: unknown): unknown {
  if (Array.isArray(sent)) {
    return sent.map((item: unknown, index) => restoreSecrets(item, sameKey(item, stored, index)));
  }
  if (!isObject(sent)) return sent;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(sent)) {
    const old = isObject(stored) ? stored[name] : undefined;
    copy[name] =
      member === MASK && SECRET_NAMES.has(name) && old !== undefined ? old : restoreSecrets(member, old);
  }
  return copy;
}

/** Whether the value at an RFC 6901 pointer is a masked secret. */
export function isMaskedAt(body: unknown, pointer: string): boolean {
  return valueAt(body, pointer) === MASK && SECRET_NAMES.has(pointer.slice(pointer.lastIndexOf('/') + 1));
}

/** The stored JWK with the same `kid`, or at the same index when there is none. */
function sameKey(item: unknown, stored: unknown, index: number): unknown {
  if (!Array.isArray(stored)) return undefined;
  if (!isObject(item) || item['kid'] === undefined) return stored[index] as unknown;
  return stored.find((candidate: unknown) => isObject(candidate) && candidate['kid'] === item['kid']);
}
