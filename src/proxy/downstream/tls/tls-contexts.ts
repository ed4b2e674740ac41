/**
 * The certificates of a worker: selects one by server name (SNI, RFC 6066 section 3), and replaces all of them at once.
 * Owns the compiled contexts; handshakes under way and established connections keep theirs.
 */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { NO_RENEGOTIATION } from '../../../lib/listeners.ts';
import type { OrderedCertificates } from './ordered-certificates.ts';
import { certificateFacts, type CertificatePair } from './tls-certificate.ts';

/** All suites of TLS 1.3; of TLS 1.2 only suites with forward secrecy and authenticated encryption. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

interface Compiled {
  readonly byName: ReadonlyMap<string, SecureContext>;
  /** undefined without certificates. */
  readonly fallback: SecureContext | undefined;
}

/**
 * The options of a listener context; also for the context that Node's server keeps as its own.
 * @param pair undefined: handshakes with the context fail, since there is no certificate
 */
export function contextOptions(pair: CertificatePair | undefined): SecureContextOptions {
  return {
    ...(pair && { cert: pair.cert, key: pair.key }),
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    honorCipherOrder: false,
    secureOptions: NO_RENEGOTIATION,
    sessionIdContext: 'headgate',
  };
}

export class TlsContexts {
  #compiled: Compiled;
  readonly #ordered: OrderedCertificates | undefined;

  /** @throws the error of the TLS library; never for pairs that `certificateFacts` accepts */
  constructor(pairs: readonly CertificatePair[], ordered?: OrderedCertificates) {
    this.#compiled = compile(pairs);
    this.#ordered = ordered;
  }

  /** Replaces all certificates; when it throws, the old ones stay. */
  replace(pairs: readonly CertificatePair[]): void {
    this.#compiled = compile(pairs);
  }

  /**
   * The first certificate serves clients without a server name, or with an unknown one. Certificates of the settings
   * come before those that were ordered.
   * @returns undefined if there is none
   */
  select(serverName: string): SecureContext | undefined {
    const { byName, fallback } = this.#compiled;
    const name = plainName(serverName);
    // A wildcard matches exactly one label (RFC 6125 section 6.4.3).
    const own = byName.get(name) ?? byName.get(`*${name.slice(indexOfRest(name))}`);
    return own ?? this.#ordered?.select(name) ?? fallback;
  }

  /** The certificate for a tls-alpn-01 challenge of a name; undefined when none is under way. */
  alpnAnswer(serverName: string): SecureContext | undefined {
    return this.#ordered?.alpnAnswer(plainName(serverName));
  }
}

function plainName(serverName: string): string {
  return serverName.toLowerCase().replace(/\.$/, '');
}

/** The index after the first label. */
function indexOfRest(name: string): number {
  const dot = name.indexOf('.');
  return dot <= 0 ? name.length : dot;
}

function compile(pairs: readonly CertificatePair[]): Compiled {
  const byName = new Map<string, SecureContext>();
  let fallback: SecureContext | undefined;
  for (const pair of pairs) {
    const context = createSecureContext(contextOptions(pair));
    fallback ??= context;
    const facts = certificateFacts(pair);
    if ('error' in facts) throw new Error(facts.error);
    // If two certificates have a name, the earlier one serves it.
    for (const name of facts.names) if (!byName.has(name)) byName.set(name, context);
  }
  return { byName, fallback };
}
