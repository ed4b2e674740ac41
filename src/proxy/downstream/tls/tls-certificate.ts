/**
 * One certificate of the traffic listener with its key, checked: the key matches and the names are known. Pure
 * functions over PEM text; files are read elsewhere. Names come only from the subject alternative names (RFC 6125
 * section 6.4.4, RFC 9110 section 4.3.4), never from the common name.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../../lib/error-message.ts';

/** PEM texts: the chain, the holder's certificate first, and its private key. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** Public facts about a certificate. */
export interface CertificateFacts {
  /** Lower-case DNS names (`*.` in front for wildcards) and IP addresses. */
  readonly names: readonly string[];
  /** Unix milliseconds; so is the next field. */
  readonly validFromMs: number;
  readonly expiresAtMs: number;
}

/** The facts, or why certificate and key cannot be used together. */
export function certificateFacts({
  cert,
  key,
}: CertificatePair): CertificateFacts | { readonly error: string } {
  const certificate = readOr(() => new X509Certificate(cert));
  if (certificate === undefined)
    return { error: 'the certificate cannot be read; expected PEM, the certificate of the server first' };
  const privateKey = readOr(() => createPrivateKey(key));
  if (privateKey === undefined) return { error: keyProblem(key) };
  if (readOr(() => certificate.checkPrivateKey(privateKey)) !== true)
    return { error: 'the key does not belong to the certificate' };
  const refusal = tlsRefusal({ cert, key });
  if (refusal !== undefined) return { error: refusal };
  const { validFrom, validTo } = certificate;
  return {
    names: namesOf(certificate),
    validFromMs: Date.parse(validFrom),
    expiresAtMs: Date.parse(validTo),
  };
}

/** undefined where OpenSSL refuses: its own texts, such as `no start line`, do not say which of the two is wrong. */
function readOr<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Of a pair that fits: the rest of a chain may be half-written, or the key too weak for TLS. */
function tlsRefusal(pair: CertificatePair): string | undefined {
  try {
    // Without the certificates that it would trust, which take time.
    createSecureContext({ ...pair, ca: [] });
    return undefined;
  } catch (error) {
    const reason = messageOf(error).replace(/^.*::/, '');
    return `they cannot be used for TLS (${reason}); expected PEM with each certificate of the chain complete`;
  }
}

function keyProblem(key: string): string {
  return /ENCRYPTED/.test(key)
    ? 'the key has a passphrase; expected a key without one (openssl pkey -in <key> -out <new key>)'
    : 'the key cannot be read; expected a private key in PEM';
}

/** `DNS:a.example, IP Address:192.0.2.1, DNS:"odd, name"`: skips quoted members, which no host name needs. */
function namesOf(certificate: X509Certificate): string[] {
  const names: string[] = [];
  for (const member of (certificate.subjectAltName ?? '').split(', ')) {
    const [kind, value = ''] = member.split(/:(.*)/s);
    if (value === '' || value.includes('"')) continue;
    if (kind === 'DNS' || kind === 'IP Address') names.push(value.toLowerCase());
  }
  return names;
}
