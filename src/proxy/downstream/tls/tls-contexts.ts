/**
 * The certificates of a worker: selects one by server name (SNI, RFC 6066 section 3), and replaces all of them at once.
 * Owns the compiled contexts; handshakes under way and established connections keep theirs.
 */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
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
  readonly fallback: SecureContext;
}

/** The options of a listener context; also for the context that Node's server keeps as its own. */
export function contextOptions({ cert, key }: CertificatePair): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    honorCipherOrder: false,
    sessionIdContext: 'headgate',
  };
}

export class TlsContexts {
  #compiled: Compiled;

  /** @throws the error of the TLS library; never for pairs that `certificateFacts` accepts */
  constructor(pairs: readonly CertificatePair[]) {
    this.#compiled = compile(pairs);
  }

  /** All or nothing: if it throws, the old ones stay. */
  replace(pairs: readonly CertificatePair[]): void {
    this.#compiled = compile(pairs);
  }

  /** The first certificate serves clients without a server name, or with an unknown one. */
  select(serverName: string): SecureContext {
    const { byName, fallback } = this.#compiled;
    const name = serverName.toLowerCase().replace(/\.$/, '');
    // A wildcard matches exactly one label (RFC 6125 section 6.4.3).
    return byName.get(name) ?? byName.get(`*${name.slice(indexOfRest(name))}`) ?? fallback;
  }
}

/** Index after the first label. */
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
  if (fallback === undefined) throw new Error('A listener with TLS needs a certificate');
  return { byName, fallback };
}
