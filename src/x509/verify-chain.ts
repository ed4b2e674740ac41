/**
 * Whether a client's certificate leads to a certificate that is trusted (RFC 5280 section 6, without policies and
 * without constraints of names, which are refused): signatures, validity, CA and path length, key usage and purpose,
 * strength of keys and hashes, revocation. The length of a chain and the number of candidate issuers are limited. A
 * chain is built by names first; its signatures are verified only once it reaches a trusted certificate, and from the
 * trusted certificate down, so no client-chosen key is used before a trusted one signed it. Pure.
 */
import { KEY_USAGE, type Certificate } from './certificate.ts';
import { isStrongKey } from './signature.ts';
import type { TrustBundle } from './trust-bundle.ts';

/** The longest chain, the client's own certificate and the trusted one included. */
const CHAIN_MAX = 8;
/** Limit of the candidate issuers that are examined. */
const CANDIDATES_MAX = 100;
/** Limit of the signatures that are verified. */
const SIGNATURES_MAX = 24;
const CLIENT_AUTH = '2b06010505070302';
const ANY_PURPOSE = '551d2500';

export type ChainProblem =
  | 'unknown_issuer'
  | 'bad_signature'
  | 'expired'
  | 'not_yet_valid'
  | 'revoked'
  | 'no_revocation_list'
  | 'revocation_list_expired'
  | 'not_for_clients'
  | 'not_a_ca'
  | 'path_too_long'
  | 'weak_key'
  | 'weak_signature'
  | 'unknown_constraint'
  | 'too_much_work';

export interface ChainRefusal {
  readonly problem: ChainProblem;
  /** The certificate with the problem. */
  readonly at: Certificate;
}

export interface VerifiedChain {
  /** The client's own certificate first, the trusted one last. */
  readonly chain: readonly Certificate[];
  /** The verdict holds from and until these Unix milliseconds, unless certificates or lists are replaced. */
  readonly validFromMs: number;
  readonly expiresAtMs: number;
}

export interface ChainRules {
  readonly nowMs: number;
  /** A list whose next update is overdue: `refuse` all certificates of its issuer, or `use` it. */
  readonly overdueCrls: 'refuse' | 'use';
  /** Every issuer must have a list, even if there is no file of lists. */
  readonly needsLists: boolean;
}

interface Search extends ChainRules {
  readonly bundle: TrustBundle;
  readonly sent: readonly Certificate[];
  candidates: number;
  signatures: number;
  /** Signatures that were verified, by the fingerprints of issuer and subject. */
  readonly known: Map<string, boolean>;
  /** The most specific refusal so far. */
  refusal: ChainRefusal | undefined;
}

/** @param sent further certificates of the client, in any order */
export function verifyChain(
  leaf: Certificate,
  sent: readonly Certificate[],
  bundle: TrustBundle,
  rules: ChainRules,
): VerifiedChain | ChainRefusal {
  const own = ownProblem(leaf, rules.nowMs) ?? leafProblem(leaf);
  if (own !== undefined) return { problem: own, at: leaf };
  if (bundle.fingerprints.has(leaf.fingerprint)) return trustedItself(leaf, bundle);
  const others = sent.filter(({ fingerprint }) => !bundle.fingerprints.has(fingerprint));
  const counts = { candidates: 0, signatures: 0 };
  const search: Search = {
    ...rules,
    ...counts,
    bundle,
    sent: others,
    known: new Map(),
    refusal: undefined,
  };
  return extend([leaf], search) ?? search.refusal ?? { problem: 'unknown_issuer', at: leaf };
}

/** A leaf that is itself trusted. Its issuer need not be, so the signature of the list is not checked. */
function trustedItself(leaf: Certificate, { revocations = [] }: TrustBundle): VerifiedChain | ChainRefusal {
  const isRevoked = revocations.some((list) => list.issuer === leaf.issuer && list.has(leaf));
  return isRevoked ? { problem: 'revoked', at: leaf } : verified([leaf], Infinity);
}

/** Looks for issuers of the last certificate, trusted ones first. */
function extend(chain: readonly Certificate[], search: Search): VerifiedChain | undefined {
  const last = chain.at(-1) as Certificate;
  if (chain.length === CHAIN_MAX) return refuse(search, 'path_too_long', last);
  const trusted = search.bundle.bySubject.get(last.issuer) ?? [];
  for (const issuer of trusted) {
    if (!mayHaveIssued(issuer, last, chain.length, search)) continue;
    const whole = [...chain, issuer];
    const found = isSignedFromEnd(whole, search) ? checkRevocation(whole, search) : undefined;
    if (found !== undefined) return found;
  }
  for (const issuer of search.sent) {
    if (issuer.subject !== last.issuer || chain.includes(issuer)) continue;
    if (!mayHaveIssued(issuer, last, chain.length, search)) continue;
    const found = extend([...chain, issuer], search);
    if (found !== undefined) return found;
  }
  return refuse(search, 'unknown_issuer', last);
}

/**
 * Whether the issuer may have issued the subject, judged by everything but the signature.
 * @param below certificates below the issuer
 */
function mayHaveIssued(issuer: Certificate, subject: Certificate, below: number, search: Search): boolean {
  if (++search.candidates > CANDIDATES_MAX) {
    refuse(search, 'too_much_work', subject);
    return false;
  }
  // This also compares key identifiers, which distinguish CAs of the same name, and checks the key usage.
  const mayBe = subject.x509.checkIssued(issuer.x509);
  const ofIssuer = issuerProblem(issuer, below);
  if (!mayBe && ofIssuer !== 'not_a_ca') return false;
  const problem = ownProblem(issuer, search.nowMs) ?? ofIssuer;
  if (problem !== undefined) refuse(search, problem, issuer);
  return problem === undefined;
}

/** @param chain ends with a trusted certificate */
function isSignedFromEnd(chain: readonly Certificate[], search: Search): boolean {
  for (let index = chain.length - 2; index >= 0; index -= 1) {
    const [subject, issuer] = chain.slice(index) as [Certificate, Certificate];
    const key = `${issuer.fingerprint} ${subject.fingerprint}`;
    if (!search.known.has(key)) {
      if (++search.signatures > SIGNATURES_MAX) {
        refuse(search, 'too_much_work', subject);
        return false;
      }
      search.known.set(key, isIssuedBy(subject, issuer));
    }
    if (search.known.get(key) === true) continue;
    refuse(search, 'bad_signature', subject);
    return false;
  }
  return true;
}

function isIssuedBy({ x509 }: Certificate, issuer: Certificate): boolean {
  try {
    return x509.verify(issuer.x509.publicKey);
  } catch {
    return false;
  }
}

function ownProblem(certificate: Certificate, nowMs: number): ChainProblem | undefined {
  if (nowMs > certificate.expiresAtMs) return 'expired';
  if (nowMs < certificate.validFromMs) return 'not_yet_valid';
  if (certificate.hasUnknownConstraint) return 'unknown_constraint';
  if (certificate.signature === undefined) return 'weak_signature';
  if (!hasStrongKey(certificate)) return 'weak_key';
  const { purposes } = certificate;
  const isForClients =
    purposes === undefined || purposes.includes(CLIENT_AUTH) || purposes.includes(ANY_PURPOSE);
  return isForClients ? undefined : 'not_for_clients';
}

function hasStrongKey({ x509 }: Certificate): boolean {
  try {
    return isStrongKey(x509.publicKey);
  } catch {
    // The key is of a kind that Node does not know.
    return false;
  }
}

function leafProblem({ keyUsage }: Certificate): ChainProblem | undefined {
  const maySign = keyUsage === undefined || (keyUsage & KEY_USAGE.digitalSignature) !== 0;
  return maySign ? undefined : 'not_for_clients';
}

/** @param below number of certificates below the issuer, including the client's own */
function issuerProblem({ isCa, keyUsage, pathLength }: Certificate, below: number): ChainProblem | undefined {
  if (!isCa || (keyUsage !== undefined && (keyUsage & KEY_USAGE.certSign) === 0)) return 'not_a_ca';
  return below - 1 > pathLength ? 'path_too_long' : undefined;
}

/** Checks each certificate but the trusted one against the list of its issuer. */
function checkRevocation(chain: readonly Certificate[], search: Search): VerifiedChain | undefined {
  const lists = search.bundle.revocations;
  let untilMs = Infinity;
  if (lists === undefined && !search.needsLists) return verified(chain, untilMs);
  for (const [index, issuer] of chain.slice(1).entries()) {
    const certificate = chain[index] as Certificate;
    const ofIssuer = (lists ?? []).filter((list) => list.isSignedBy(issuer));
    if (ofIssuer.some((list) => list.has(certificate))) return refuse(search, 'revoked', certificate);
    if (ofIssuer.length === 0) return refuse(search, 'no_revocation_list', certificate);
    if (search.overdueCrls === 'use') continue;
    const nextMs = Math.max(...ofIssuer.map(({ nextUpdateMs }) => nextUpdateMs));
    if (search.nowMs >= nextMs) return refuse(search, 'revocation_list_expired', certificate);
    untilMs = Math.min(untilMs, nextMs - 1);
  }
  return verified(chain, untilMs);
}

function verified(chain: readonly Certificate[], untilMs: number): VerifiedChain {
  return {
    chain,
    validFromMs: Math.max(...chain.map(({ validFromMs }) => validFromMs)),
    expiresAtMs: Math.min(untilMs, ...chain.map(({ expiresAtMs }) => expiresAtMs)),
  };
}

/** Records why a chain fails, unless a more specific reason is known. */
function refuse(search: Search, problem: ChainProblem, at: Certificate): undefined {
  const { refusal } = search;
  const isTelling = problem !== 'unknown_issuer' && refusal?.problem === 'unknown_issuer';
  if (refusal === undefined || isTelling) search.refusal = { problem, at };
  return undefined;
}
