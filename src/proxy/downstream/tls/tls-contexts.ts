/**
 * The certificates that a worker serves with: picks one by the name that a client asks for (SNI, RFC 6066 section
 * 3), and swaps all of them at once. Owns the compiled contexts; handshakes under way keep the one they have, and
 * connections that stand are not touched.
 */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { certificateFacts, type CertificatePair } from './tls-certificate.ts';

/** TLS 1.3 has good suites only; of those of TLS 1.2, the ones with forward secrecy and authenticated encryption. */
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

/** What a context of the listener is made from; also for the one that node's server keeps as its own. */
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

  /** @throws what the TLS library says of a certificate; nothing is thrown for pairs that `certificateFacts` accepts */
  constructor(pairs: readonly CertificatePair[]) {
    this.#compiled = compile(pairs);
  }

  /** All or nothing: when it throws, the old ones stay. */
  replace(pairs: readonly CertificatePair[]): void {
    this.#compiled = compile(pairs);
  }

  /** The first certificate serves clients that ask for no name, or for one that none is for. */
  select(serverName: string): SecureContext {
    const { byName, fallback } = this.#compiled;
    const name = serverName.toLowerCase().replace(/\.$/, '');
    // A wildcard stands for exactly one label (RFC 6125 section 6.4.3).
    return byName.get(name) ?? byName.get(`*${name.slice(indexOfRest(name))}`) ?? fallback;
  }
}

/** Where what follows the first label begins. */
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
    // Where two certificates have a name, the earlier one serves it.
    for (const name of facts.names) if (!byName.has(name)) byName.set(name, context);
  }
  if (fallback === undefined) throw new Error('A listener with TLS needs a certificate');
  return { byName, fallback };
}
