/**
 * Which signatures on certificates and revocation lists are accepted: RSA (PKCS #1 and PSS) and ECDSA with SHA-2,
 * and the Edwards curves. SHA-1 and older hashes are not: signatures with them can be forged. RSA keys have at least
 * 2048 bits, keys on elliptic curves 256. RSA keys also have an upper limit, since a client may send any key: with a
 * long exponent, a signature takes a hundred times longer to verify. RSA keys with the mark of ROCA (roca.ts) are
 * refused. Pure.
 */
import { constants, verify, type KeyObject } from 'node:crypto';
import { DerReader, TAG } from './der.ts';
import { hasRocaMark } from './roca.ts';

/** `none`: the algorithm of the key includes a hash. */
export interface SignatureHash {
  readonly hash: 'sha256' | 'sha384' | 'sha512' | 'none';
  readonly isPss: boolean;
}

const RSA_BITS = { min: 2_048, max: 8_192 };
/** Nearly all RSA keys have the exponent 65537; with 1, every text would count as signed. */
const RSA_EXPONENT = { min: 3n, max: 2n ** 64n };
const EC_CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const EDWARDS: ReadonlySet<string> = new Set(['ed25519', 'ed448']);

const SIGNATURES: Readonly<Record<string, SignatureHash['hash']>> = {
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  '2b6570': 'none',
  '2b6571': 'none',
};
const RSA_PSS = '2a864886f70d01010a';
const HASHES: Readonly<Record<string, SignatureHash['hash']>> = {
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
};

/** @param algorithm contents of an AlgorithmIdentifier @returns undefined when the algorithm is not accepted */
export function signatureHash(algorithm: DerReader): SignatureHash | undefined {
  const name = algorithm.hex(algorithm.take(TAG.oid));
  const hash = SIGNATURES[name];
  if (hash !== undefined) return { hash, isPss: false };
  if (name !== RSA_PSS || algorithm.nextTag !== TAG.sequence) return undefined;
  const parameters = algorithm.enter(TAG.sequence);
  // RFC 4055 section 3.1: the default is SHA-1.
  if (parameters.nextTag !== 0xa0) return undefined;
  const inner = parameters.enter(0xa0).enter(TAG.sequence);
  const named = HASHES[inner.hex(inner.take(TAG.oid))];
  return named === undefined ? undefined : { hash: named, isPss: true };
}

export function isStrongKey(key: KeyObject): boolean {
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: details } = key;
  if (type === 'rsa' || type === 'rsa-pss') {
    const { modulusLength: bits = 0, publicExponent: exponent = 0n } = details ?? {};
    const isBounded = exponent >= RSA_EXPONENT.min && exponent < RSA_EXPONENT.max;
    return isBounded && bits >= RSA_BITS.min && bits <= RSA_BITS.max && !hasRocaMark(modulusOf(key));
  }
  if (type === 'ec') return EC_CURVES.has(details?.namedCurve ?? '');
  return EDWARDS.has(type);
}

/**
 * The modulus of an RSA key, from its SubjectPublicKeyInfo (RFC 8017 appendix A.1.1): Node exports PSS keys in no
 * other form.
 */
function modulusOf(key: KeyObject): bigint {
  const spki = new DerReader(key.export({ type: 'spki', format: 'der' })).enter(TAG.sequence);
  spki.take(TAG.sequence);
  const bits = spki.take(TAG.bitString);
  // The first byte of a bit string counts its unused bits.
  const numbers = spki.within({ ...bits, start: bits.start + 1 }).enter(TAG.sequence);
  return BigInt(`0x${numbers.hex(numbers.take(TAG.integer)) || '0'}`);
}

/** Whether the signature of the data is valid for the key; false also when key and algorithm do not match. */
export function isSigned(
  data: Buffer,
  signature: Buffer,
  key: KeyObject,
  { hash, isPss }: SignatureHash,
): boolean {
  try {
    const padding = isPss
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO }
      : {};
    return verify(hash === 'none' ? null : hash, data, { key, ...padding }, signature);
  } catch {
    return false;
  }
}
