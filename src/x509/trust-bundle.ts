/**
 * The certificates with which a policy verifies those of clients, and revocation lists, read from the text of files.
 * Every certificate of a bundle is trusted as it is: a CA, an intermediate CA without its root, or one client's own.
 * Pure.
 */
import { pemDocuments } from './pem.ts';
import { readCertificate, type Certificate } from './certificate.ts';
import { readRevocationLists, type RevocationList } from './revocation-list.ts';

const BUNDLE_CERTIFICATES_MAX = 1_000;

/** The texts of the files of one bundle; sent to the workers. */
export interface TrustFiles {
  /** PEM. */
  readonly certificates: string;
  /** PEM or DER; undefined when there is no such file. */
  readonly revocations: Uint8Array | undefined;
}

export interface TrustBundle {
  readonly certificates: readonly Certificate[];
  readonly bySubject: ReadonlyMap<string, readonly Certificate[]>;
  readonly fingerprints: ReadonlySet<string>;
  /** undefined: there is no file of lists. Empty: the file is invalid. */
  readonly revocations: readonly RevocationList[] | undefined;
}

/** The certificates of a PEM text in order, or a text that says what is wrong. Ignores text between certificates. */
export function readPemCertificates(
  text: string,
  max: number,
): readonly Certificate[] | { readonly error: string } {
  const found: Certificate[] = [];
  for (const document of pemDocuments(text, 'CERTIFICATE')) {
    if (found.length === max) return { error: `it has more than ${max} certificates` };
    const certificate = readCertificate(document);
    if (certificate === undefined) return { error: `certificate ${found.length + 1} of it cannot be read` };
    found.push(certificate);
  }
  return found.length === 0 ? { error: 'it has no certificate' } : found;
}

export function readTrustBundle({
  certificates: text,
  revocations,
}: TrustFiles): TrustBundle | { readonly error: string } {
  const certificates = readPemCertificates(text, BUNDLE_CERTIFICATES_MAX);
  if ('error' in certificates) return certificates;
  const lists = revocations && readRevocationLists(Buffer.from(revocations));
  return Object.freeze({
    certificates,
    bySubject: Map.groupBy(certificates, ({ subject }) => subject),
    fingerprints: new Set(certificates.map(({ fingerprint }) => fingerprint)),
    revocations: lists === undefined ? undefined : 'error' in lists ? [] : lists,
  });
}
