/**
 * Reads a key set (RFC 7517): the keys that can verify a signature, with the members that verification needs.
 * Everything else in the document, such as certificates, is not kept. Pure.
 */
import { rsaWeakness } from './rsa-weakness.ts';

const KEYS_MAX = 500;
const STRINGS = ['kty', 'kid', 'alg', 'use', 'crv', 'x', 'y', 'n', 'e'] as const;
const KEY_TYPES: ReadonlySet<unknown> = new Set(['RSA', 'EC', 'OKP']);
/** RFC 7517 section 4.3 lists eight. */
const KEY_OPS_MAX = 16;
/** Measured: a key as it is kept, and imported for one algorithm. */
const KEY_BYTES = 10 * 1024;

export type PublicKey = Readonly<Record<string, unknown>>;

export interface ReadKeys {
  readonly keys: readonly PublicKey[];
  /** Keys that must not or cannot be used. */
  readonly skipped: readonly { readonly kid: unknown; readonly reason: string }[];
  /** Estimated, of `keys`. */
  readonly bytes: number;
}

/** @returns undefined if the text is no key set */
export function readKeySet(text: string): ReadKeys | undefined {
  const value = JSON.parse(text) as { readonly keys?: unknown } | null;
  if (!Array.isArray(value?.keys) || value.keys.length > KEYS_MAX) return undefined;
  const keys: PublicKey[] = [];
  const skipped: { kid: unknown; reason: string }[] = [];
  for (const key of value.keys as unknown[]) {
    if (typeof key !== 'object' || key === null || Array.isArray(key)) return undefined;
    const jwk = key as Readonly<Record<string, unknown>>;
    if (!KEY_TYPES.has(jwk['kty'])) continue;
    const kept = usedMembers(jwk);
    const reason = typeof kept === 'string' ? kept : rsaWeakness(kept);
    if (typeof kept === 'string' || reason !== undefined)
      skipped.push({ kid: jwk['kid'], reason: reason ?? '' });
    else keys.push(kept);
  }
  return { keys, skipped, bytes: JSON.stringify(keys).length + keys.length * KEY_BYTES };
}

/** The key without members that verification does not need; unchanged if it is not one that verifies. */
export function verifyingMembers(jwk: PublicKey): PublicKey {
  const kept = usedMembers(jwk);
  return typeof kept === 'string' ? jwk : kept;
}

/** The key, or why it is not used. */
function usedMembers(jwk: Readonly<Record<string, unknown>>): PublicKey | string {
  if (jwk['d'] !== undefined) return 'is a private key, with which others can sign';
  const kept: Record<string, unknown> = {};
  for (const name of STRINGS) {
    if (jwk[name] === undefined || jwk[name] === null) continue;
    if (typeof jwk[name] !== 'string') return `has a member ${name} that is not a string`;
    kept[name] = jwk[name];
  }
  const { key_ops: operations, ext } = jwk;
  if (ext !== undefined) {
    if (typeof ext !== 'boolean') return 'has a member ext that is not a boolean';
    kept['ext'] = ext;
  }
  if (operations !== undefined) {
    const isList = Array.isArray(operations) && operations.length <= KEY_OPS_MAX;
    if (!isList || !operations.every((each) => typeof each === 'string'))
      return 'has a member key_ops that is not a list of strings';
    kept['key_ops'] = operations;
  }
  return kept;
}
