/**
 * What a worker has of certificates that the gateway orders by ACME: the certificates by exact name, and the answers to
 * challenges (RFC 8555 section 8.3, RFC 8737). The main thread sends both. A certificate is compiled for the handshake
 * that first needs it, since there may be thousands; one that has expired is not served. Owns the compiled contexts.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { CertificatePair } from './tls-certificate.ts';

/** A certificate that the gateway has ordered for one name. */
export interface OrderedCertificate extends CertificatePair {
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** Plain data, for a structured clone. */
export interface OrderedChange {
  /** By name; undefined: there is none any more. */
  readonly certificates: readonly (readonly [name: string, certificate: OrderedCertificate | undefined])[];
  /** All answers of http-01, by token. */
  readonly httpAnswers: readonly (readonly [token: string, keyAuthorization: string])[];
  /** All certificates that answer tls-alpn-01, by name. */
  readonly alpnAnswers: readonly (readonly [name: string, certificate: CertificatePair])[];
}

/** The protocol of the challenge (RFC 8737 section 6.2): a connection with it ends after its handshake. */
export const ACME_TLS = 'acme-tls/1';

interface Entry {
  readonly certificate: OrderedCertificate;
  context: SecureContext | undefined;
}

export class OrderedCertificates {
  readonly #nowMs: () => number;
  readonly #contextOf: (pair: CertificatePair) => SecureContext;
  readonly #entries = new Map<string, Entry>();
  #httpAnswers: ReadonlyMap<string, string> = new Map();
  #alpnAnswers: ReadonlyMap<string, CertificatePair> = new Map();

  constructor(
    nowMs: () => number,
    contextOf: (pair: CertificatePair) => SecureContext = (pair) => createSecureContext(pair),
  ) {
    this.#nowMs = nowMs;
    this.#contextOf = contextOf;
  }

  apply({ certificates, httpAnswers, alpnAnswers }: OrderedChange): void {
    for (const [name, certificate] of certificates) {
      if (certificate === undefined) this.#entries.delete(name);
      else this.#entries.set(name, { certificate, context: undefined });
    }
    this.#httpAnswers = new Map(httpAnswers);
    this.#alpnAnswers = new Map(alpnAnswers);
  }

  /** @param name lower case; undefined: there is none, or it has expired or cannot be used */
  select(name: string): SecureContext | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined || this.#nowMs() >= entry.certificate.expiresAtMs) return undefined;
    try {
      return (entry.context ??= this.#contextOf(entry.certificate));
    } catch {
      this.#entries.delete(name);
      return undefined;
    }
  }

  /** The key authorization of a token of http-01. */
  httpAnswer(token: string): string | undefined {
    return this.#httpAnswers.get(token);
  }

  /** Whether there are any. */
  get hasHttpAnswers(): boolean {
    return this.#httpAnswers.size > 0;
  }

  /** Whether a challenge of tls-alpn-01 is under way. */
  get hasAlpnAnswers(): boolean {
    return this.#alpnAnswers.size > 0;
  }

  /** The certificate that answers tls-alpn-01 for a name in lower case. */
  alpnAnswer(name: string): SecureContext | undefined {
    const pair = this.#alpnAnswers.get(name);
    return pair && this.#contextOf(pair);
  }
}
