/**
 * A certificate (RFC 5280 section 4) with facts that its verification needs and Node does not give: path length, key
 * usage, critical extensions, key identifiers, and the alternative names by kind. Node reads signatures and keys. Pure;
 * bytes from the network give a certificate or undefined, never an exception.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { DerReader, TAG, type DerValue } from './der.ts';
import { distinguishedName } from './distinguished-name.ts';
import { signatureHash, type SignatureHash } from './signature.ts';

/** The longest certificate; those with many names have some thousand bytes. */
const CERTIFICATE_BYTES_MAX = 16_384;
/** The most alternative names of one certificate; each rule of a policy may be compared with each of them. */
const NAMES_MAX = 1_000;

interface AlternativeNames {
  readonly uris: readonly string[];
  readonly dns: readonly string[];
  readonly emails: readonly string[];
}

export interface Certificate {
  /** DER. */
  readonly raw: Buffer;
  readonly x509: X509Certificate;
  /** SHA-256, lower-case hexadecimal. */
  readonly fingerprint: string;
  /** Lower-case hexadecimal digits, as encoded. */
  readonly serial: string;
  /** The names in DER as latin1, for comparison. */
  readonly issuer: string;
  readonly subject: string;
  /** RFC 4514; '' if empty. */
  readonly subjectText: string;
  /** Unix milliseconds; valid from the first to the last, both included. */
  readonly validFromMs: number;
  readonly expiresAtMs: number;
  readonly signature: SignatureHash | undefined;
  readonly isCa: boolean;
  /** The number of CA certificates that may follow before the last one; Infinity: no limit. */
  readonly pathLength: number;
  /** Bits of section 4.2.1.3, bit 0 first, the most significant of the first byte; undefined without the extension. */
  readonly keyUsage: number | undefined;
  /** OIDs in hexadecimal; undefined without the extension. */
  readonly purposes: readonly string[] | undefined;
  readonly names: AlternativeNames;
  /**
   * It has a critical extension that the gateway does not know: such a certificate must not be used (section
   * 4.2).
   */
  readonly hasUnknownConstraint: boolean;
}

export const KEY_USAGE = Object.freeze({ digitalSignature: 0x8000, certSign: 0x0400, crlSign: 0x0200 });

const EXTENSION = Object.freeze({
  subjectKeyId: '551d0e',
  keyUsage: '551d0f',
  alternativeNames: '551d11',
  basicConstraints: '551d13',
  nameConstraints: '551d1e',
  crlPoints: '551d1f',
  policies: '551d20',
  authorityKeyId: '551d23',
  purposes: '551d25',
});
/** Critical extensions that are accepted: those that this code checks, and policies, since no policy is required. */
const READ: ReadonlySet<string> = new Set([
  EXTENSION.keyUsage,
  EXTENSION.alternativeNames,
  EXTENSION.basicConstraints,
  EXTENSION.purposes,
  EXTENSION.policies,
  EXTENSION.crlPoints,
  EXTENSION.subjectKeyId,
  EXTENSION.authorityKeyId,
]);
/** Context-specific tags of GeneralName. */
const NAME_TAG = Object.freeze({ email: 0x81, dns: 0x82, uri: 0x86 });
const NO_NAMES: AlternativeNames = Object.freeze({ uris: [], dns: [], emails: [] });
const EXTENSIONS_MAX = 64;

interface Extensions {
  isCa: boolean;
  pathLength: number;
  keyUsage: number | undefined;
  purposes: readonly string[] | undefined;
  names: AlternativeNames;
  hasUnknownConstraint: boolean;
}

/**
 * @returns undefined when the bytes are not a certificate, exceed `CERTIFICATE_BYTES_MAX`, or have more names
 * than `NAMES_MAX`
 */
export function readCertificate(raw: Buffer): Certificate | undefined {
  if (raw.length > CERTIFICATE_BYTES_MAX) return undefined;
  const document = new DerReader(raw);
  const whole = document.enter(TAG.sequence);
  const body = whole.enter(TAG.sequence);
  body.takeIf(0xa0);
  const serial = body.hex(body.take(TAG.integer));
  const algorithm = body.take(TAG.sequence);
  const issuer = body.take(TAG.sequence);
  const validity = body.enter(TAG.sequence);
  const validFromMs = validity.time();
  // The end is the last valid second.
  const expiresAtMs = validity.time() + 999;
  const subject = body.take(TAG.sequence);
  body.take(TAG.sequence);
  for (const unique of [0xa1, 0x81, 0xa2, 0x82]) body.takeIf(unique);
  const extensions = extensionsOf(body);
  // The signed algorithm and the used one must be the same (section 4.1.1.2).
  const outer = whole.take(TAG.sequence);
  whole.take(TAG.bitString);
  if (whole.hex(outer) !== whole.hex(algorithm) || !document.isAtEnd || !whole.isAtEnd) document.refuse();
  const subjectText = distinguishedName(body.within(subject));
  const x509 = document.isBroken ? undefined : parsed(raw);
  if (x509 === undefined || document.isBroken) return undefined;
  return Object.freeze({
    raw,
    x509,
    fingerprint: createHash('sha256').update(raw).digest('hex'),
    serial,
    issuer: raw.toString('latin1', issuer.from, issuer.end),
    subject: raw.toString('latin1', subject.from, subject.end),
    subjectText,
    validFromMs,
    expiresAtMs,
    signature: signatureHash(whole.within(outer)),
    ...extensions,
  });
}

function parsed(raw: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(raw);
  } catch {
    return undefined;
  }
}

function extensionsOf(body: DerReader): Extensions {
  const found: Extensions = {
    isCa: false,
    pathLength: Infinity,
    keyUsage: undefined,
    purposes: undefined,
    names: NO_NAMES,
    hasUnknownConstraint: false,
  };
  if (body.nextTag !== 0xa3) return found;
  const list = body.enter(0xa3).enter(TAG.sequence);
  const seen = new Set<string>();
  while (!list.isAtEnd) {
    const extension = list.enter(TAG.sequence);
    const name = extension.hex(extension.take(TAG.oid));
    const critical = extension.takeIf(TAG.boolean);
    const value = extension.within(extension.take(TAG.octetString));
    // Section 4.2: at most one extension of each kind.
    if (seen.has(name) || seen.size >= EXTENSIONS_MAX) list.refuse();
    seen.add(name);
    const isCritical = critical !== undefined && extension.hex(critical) !== '00';
    // No code here checks name constraints, whether or not they are marked as critical.
    if (name === EXTENSION.nameConstraints || (isCritical && !READ.has(name)))
      found.hasUnknownConstraint = true;
    else readExtension(name, value, found);
  }
  return found;
}

function readExtension(name: string, value: DerReader, found: Extensions): void {
  if (name === EXTENSION.basicConstraints) {
    const fields = value.enter(TAG.sequence);
    const isCa = fields.takeIf(TAG.boolean);
    found.isCa = isCa !== undefined && fields.hex(isCa) !== '00';
    const length = fields.takeIf(TAG.integer);
    if (length !== undefined) found.pathLength = Number.parseInt(fields.hex(length) || '0', 16);
  } else if (name === EXTENSION.keyUsage) {
    const bits = value.take(TAG.bitString);
    found.keyUsage = bitsOf(value, bits);
  } else if (name === EXTENSION.purposes) {
    const list = value.enter(TAG.sequence);
    const purposes: string[] = [];
    while (!list.isAtEnd) purposes.push(list.hex(list.take(TAG.oid)));
    found.purposes = purposes;
  } else if (name === EXTENSION.alternativeNames) found.names = namesOf(value.enter(TAG.sequence));
}

/** The first 16 bits of a bit string. */
function bitsOf({ bytes }: DerReader, { start, end }: DerValue): number {
  const at = (index: number): number => (start + index < end ? (bytes[start + index] as number) : 0);
  return (at(1) << 8) | at(2);
}

function namesOf(list: DerReader): AlternativeNames {
  const uris: string[] = [];
  const dns: string[] = [];
  const emails: string[] = [];
  for (let count = 1; !list.isAtEnd; count += 1) {
    if (count > NAMES_MAX) list.refuse();
    const value = list.takeAny();
    // IA5String; a name with other characters cannot match a name in a rule.
    const text = list.bytes.toString('latin1', value.start, value.end);
    if (!/^[!-~]+$/.test(text)) continue;
    if (value.tag === NAME_TAG.uri) uris.push(text);
    else if (value.tag === NAME_TAG.dns) dns.push(text.toLowerCase());
    else if (value.tag === NAME_TAG.email) emails.push(text);
  }
  return { uris, dns, emails };
}

/** Whether the text of a file has a certificate in PEM, as files of authorities must. */
export function isCertificateText(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
