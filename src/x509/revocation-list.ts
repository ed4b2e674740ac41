/**
 * Certificate revocation lists (RFC 5280 section 5): the serial numbers that an issuer has revoked. Only complete lists
 * of the issuer itself are accepted. Delta lists, indirect lists and lists of one distribution point do not cover every
 * certificate, so such a list is refused as a whole. Pure, except that a list remembers whose signature it has.
 */
import { pemDocuments } from './pem.ts';
import { DerReader, TAG } from './der.ts';
import { KEY_USAGE, type Certificate } from './certificate.ts';
import { isSigned, isStrongKey, signatureHash, type SignatureHash } from './signature.ts';

export class RevocationList {
  /** The issuer's name in DER, as latin1. */
  readonly issuer: string;
  /** Unix milliseconds; Infinity when the list does not say. */
  readonly nextUpdateMs: number;
  readonly thisUpdateMs: number;
  readonly #serials: ReadonlySet<string>;
  readonly #signed: { readonly body: Buffer; readonly signature: Buffer; readonly by: SignatureHash };
  readonly #signers = new Map<string, boolean>();

  constructor(
    issuer: string,
    thisUpdateMs: number,
    nextUpdateMs: number,
    serials: ReadonlySet<string>,
    signed: { readonly body: Buffer; readonly signature: Buffer; readonly by: SignatureHash },
  ) {
    this.issuer = issuer;
    this.thisUpdateMs = thisUpdateMs;
    this.nextUpdateMs = nextUpdateMs;
    this.#serials = serials;
    this.#signed = signed;
  }

  /** The number of revoked certificates. */
  get size(): number {
    return this.#serials.size;
  }

  has({ serial }: Certificate): boolean {
    return this.#serials.has(serial);
  }

  /** Whether this CA has signed the list, and may sign lists. */
  isSignedBy(ca: Certificate): boolean {
    let isSigner = this.#signers.get(ca.fingerprint);
    if (isSigner === undefined) {
      const { body, signature, by } = this.#signed;
      const { publicKey } = ca.x509;
      const may = ca.keyUsage === undefined || (ca.keyUsage & KEY_USAGE.crlSign) !== 0;
      isSigner =
        may &&
        ca.subject === this.issuer &&
        isStrongKey(publicKey) &&
        isSigned(body, signature, publicKey, by);
      this.#signers.set(ca.fingerprint, isSigner);
    }
    return isSigner;
  }
}

const TIMES: ReadonlySet<number> = new Set([TAG.utcTime, TAG.generalizedTime]);
/** Limit of the lists in one file. */
const LISTS_MAX = 100;

/** Reads one list in DER, or any number of lists in PEM. Returns a text when the file is invalid. */
export function readRevocationLists(file: Buffer): readonly RevocationList[] | { readonly error: string } {
  const isDer = file[0] === TAG.sequence;
  const lists: RevocationList[] = [];
  for (const document of isDer ? [file] : pemDocuments(file.toString('latin1'), 'X509 CRL')) {
    if (lists.length === LISTS_MAX) return { error: `it has more than ${LISTS_MAX} revocation lists` };
    const list = readList(document);
    if (typeof list === 'string') return { error: `revocation list ${lists.length + 1} of it ${list}` };
    lists.push(list);
  }
  return lists.length === 0 ? { error: 'it has no revocation list' } : lists;
}

/** @returns a text that says what is wrong */
function readList(bytes: Buffer): RevocationList | string {
  const document = new DerReader(bytes);
  const whole = document.enter(TAG.sequence);
  const bodyValue = whole.take(TAG.sequence);
  const body = whole.within(bodyValue);
  body.takeIf(TAG.integer);
  const algorithm = body.hex(body.take(TAG.sequence));
  const issuer = body.take(TAG.sequence);
  const thisUpdateMs = body.time();
  const hasNext = TIMES.has(body.nextTag);
  const nextUpdateMs = hasNext ? body.time() : Infinity;
  const serials = new Set<string>();
  const revoked = body.nextTag === TAG.sequence ? body.enter(TAG.sequence) : undefined;
  while (revoked?.isAtEnd === false) {
    const entry = revoked.enter(TAG.sequence);
    serials.add(entry.hex(entry.take(TAG.integer)));
    // The time of revocation is not used, and parsing it would double the time for a long list.
    if (!TIMES.has(entry.takeAny().tag)) entry.refuse();
    if (entry.nextTag === TAG.sequence && hasCritical(entry.enter(TAG.sequence)))
      return 'is not of one issuer alone, which is not supported';
  }
  if (body.nextTag === 0xa0 && hasCritical(body.enter(0xa0).enter(TAG.sequence)))
    return 'is a delta list or one of several parts, which is not supported';
  const outer = whole.take(TAG.sequence);
  const signature = whole.take(TAG.bitString);
  if (whole.hex(outer) !== algorithm || !document.isAtEnd || !body.isAtEnd) document.refuse();
  if (document.isBroken) return 'cannot be read';
  const by = signatureHash(whole.within(outer));
  if (by === undefined) return 'is signed in a way that is not accepted';
  return new RevocationList(
    bytes.toString('latin1', issuer.from, issuer.end),
    thisUpdateMs,
    nextUpdateMs,
    serials,
    // The first byte of a bit string counts its unused bits.
    {
      body: bytes.subarray(bodyValue.from, bodyValue.end),
      signature: bytes.subarray(signature.start + 1, signature.end),
      by,
    },
  );
}

/** Whether there is a critical extension: each of those narrows what the list or entry says. */
function hasCritical(extensions: DerReader): boolean {
  let found = false;
  while (!extensions.isAtEnd) {
    const extension = extensions.enter(TAG.sequence);
    extension.take(TAG.oid);
    const critical = extension.takeIf(TAG.boolean);
    if (critical !== undefined && extension.hex(critical) !== '00') found = true;
    extension.take(TAG.octetString);
  }
  return found;
}
