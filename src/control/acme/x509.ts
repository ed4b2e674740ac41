/**
 * Certificate requests (RFC 2986) for names of apps, certificates for tls-alpn-01 (RFC 8737), and the id of a
 * certificate in requests about its renewal (RFC 9773). The library is loaded on first use.
 */
import { createHash, createPrivateKey, generateKeyPair, webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import type * as X509 from '@peculiar/x509';
import type { Clock } from '../../lib/clock.ts';
import type { CertificatePair } from '../../proxy/downstream/tls/tls-certificate.ts';

export type KeyType = 'ecdsa-p256' | 'ecdsa-p384' | 'rsa-2048';

const DAY_MS = 86_400_000;
/** RFC 8737 section 6.1. */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';
/** An octet string of 32 bytes in DER. */
const DIGEST_HEAD = [0x04, 0x20];
const RSA = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const;
const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const P384 = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' } as const;

type Library = typeof X509;
let loading: Promise<Library> | undefined;

/** PEM (PKCS #8). */
export async function newPrivateKey(type: KeyType): Promise<string> {
  const generate = promisify(generateKeyPair);
  const { privateKey } =
    type === 'rsa-2048'
      ? await generate('rsa', { modulusLength: 2_048 })
      : await generate('ec', { namedCurve: type === 'ecdsa-p384' ? 'P-384' : 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/**
 * A request for a certificate with one name and no common name.
 * @param keyPem key of the certificate
 * @returns DER
 */
export async function certificateRequest(name: string, keyPem: string): Promise<Uint8Array> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await library();
  const { keys, algorithm } = await importedKey(keyPem);
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
  });
  return new Uint8Array(request.rawData);
}

/** The certificate for tls-alpn-01: self-signed, with the digest of the key authorization. */
export async function challengeCertificate(
  name: string,
  keyAuthorization: string,
  clock: Clock,
): Promise<CertificatePair> {
  const { X509CertificateGenerator, SubjectAlternativeNameExtension, Extension } = await library();
  const key = await newPrivateKey('ecdsa-p256');
  const { keys, algorithm } = await importedKey(key);
  const digest = createHash('sha256').update(keyAuthorization).digest();
  const nowMs = clock.nowMs();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    signingAlgorithm: algorithm,
    // Clocks differ.
    notBefore: new Date(nowMs - DAY_MS),
    notAfter: new Date(nowMs + 7 * DAY_MS),
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      new Extension(ACME_IDENTIFIER, true, Uint8Array.from([...DIGEST_HEAD, ...digest])),
    ],
  });
  return { cert: certificate.toString('pem'), key };
}

/**
 * The id of RFC 9773 section 4.1: the key of the issuer and the serial number; undefined for a certificate that
 * does not name the key of its issuer.
 * @param pem the certificate first
 */
export async function renewalId(pem: string): Promise<string | undefined> {
  const { AuthorityKeyIdentifierExtension, X509Certificate } = await library();
  const end = '-----END CERTIFICATE-----';
  const certificate = new X509Certificate(pem.slice(0, pem.indexOf(end) + end.length));
  const issuer = certificate.getExtension(AuthorityKeyIdentifierExtension)?.keyId;
  if (issuer === undefined) return undefined;
  const encoded = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');
  const serial = certificate.serialNumber;
  // In DER the first bit of a positive number is 0.
  const isHigh = parseInt(serial.slice(0, 2), 16) >= 0x80;
  return `${encoded(issuer)}.${encoded(isHigh ? `00${serial}` : serial)}`;
}

async function importedKey(pem: string) {
  const key = createPrivateKey(pem);
  const algorithm = key.asymmetricKeyType === 'rsa' ? RSA : curveOf(key.asymmetricKeyDetails?.namedCurve);
  const { subtle } = webcrypto;
  const pkcs8 = Uint8Array.from(key.export({ type: 'pkcs8', format: 'der' }));
  const privateKey = await subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']);
  const {
    d: _d,
    p: _p,
    q: _q,
    dp: _dp,
    dq: _dq,
    qi: _qi,
    key_ops: _ops,
    ...open
  } = key.export({ format: 'jwk' });
  const publicKey = await subtle.importKey('jwk', open, algorithm, true, ['verify']);
  return { keys: { privateKey, publicKey }, algorithm };
}

const curveOf = (name: string | undefined): typeof P256 | typeof P384 => (name === 'secp384r1' ? P384 : P256);

function library(): Promise<Library> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(): Promise<Library> {
  addMetadata();
  return import('@peculiar/x509');
}

/**
 * The library's dependency container requires metadata on classes (`Reflect.getMetadata`), which JavaScript
 * does not have. It calls only three functions.
 */
function addMetadata(): void {
  const kept = new WeakMap<object, Map<unknown, unknown>>();
  const own = (key: unknown, target: object): unknown => kept.get(target)?.get(key);
  const define = (key: unknown, value: unknown, target: object): void => {
    const values = kept.get(target) ?? new Map<unknown, unknown>();
    kept.set(target, values.set(key, value));
  };
  const inherited = (key: unknown, target: object): unknown => {
    for (let each: object | null = target; each !== null; each = Reflect.getPrototypeOf(each)) {
      const value = own(key, each);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  if ('getMetadata' in Reflect) return;
  Object.assign(Reflect, { getMetadata: inherited, getOwnMetadata: own, defineMetadata: define });
}
