/**
 * A worker's copy of the certificates that the gateway orders by ACME: the certificates by exact name, and the
 * answers to challenges (RFC 8555 section 8.3, RFC 8737). The main thread sends both. Since there may be thousands,
 * a certificate is compiled at the first handshake that needs it, and kept while it is among the most recently used;
 * an expired certificate is not served. Each certificate that is not served is reported once. Owns the compiled
 * contexts.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import { timestamp } from '../../../lib/clock.ts';
import { messageOf } from '../../../lib/error-message.ts';
import type { CertificatePair } from './tls-certificate.ts';

/** A certificate that the gateway has ordered for one name. */
export interface OrderedCertificate extends CertificatePair {
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** Plain data, for a structured clone. */
export interface OrderedChange {
  /** By name; undefined: it was removed. */
  readonly certificates: readonly (readonly [name: string, certificate: OrderedCertificate | undefined])[];
  /** All answers for http-01, by token. */
  readonly httpAnswers: readonly (readonly [token: string, keyAuthorization: string])[];
  /** All certificates for tls-alpn-01, by name. */
  readonly alpnAnswers: readonly (readonly [name: string, certificate: CertificatePair])[];
}

/** The protocol of the challenge (RFC 8737 section 6.2): a connection that uses it ends after its handshake. */
export const ACME_TLS = 'acme-tls/1';

/** Limit of compiled contexts; each takes some 40 KB. */
export const CONTEXTS_MAX = 1_000;

/** Why a certificate is not served. */
export interface UnusableCertificate {
  readonly name: string;
  readonly reason: string;
}

export class OrderedCertificates {
  readonly #nowMs: () => number;
  readonly #onUnusable: (certificate: UnusableCertificate) => void;
  readonly #contextOf: (pair: CertificatePair) => SecureContext;
  readonly #certificates = new Map<string, OrderedCertificate>();
  /** Names whose certificate was reported; at most one for each certificate. */
  readonly #unusable = new Set<string>();
  /** By name, the most recently used at the end. */
  readonly #contexts = new Map<string, SecureContext>();
  #httpAnswers: ReadonlyMap<string, string> = new Map();
  #alpnAnswers: ReadonlyMap<string, CertificatePair> = new Map();

  constructor(
    nowMs: () => number,
    onUnusable: (certificate: UnusableCertificate) => void,
    contextOf: (pair: CertificatePair) => SecureContext = (pair) => createSecureContext(pair),
  ) {
    this.#nowMs = nowMs;
    this.#onUnusable = onUnusable;
    this.#contextOf = contextOf;
  }

  apply({ certificates, httpAnswers, alpnAnswers }: OrderedChange): void {
    for (const [name, certificate] of certificates) {
      this.#contexts.delete(name);
      this.#unusable.delete(name);
      if (certificate === undefined) this.#certificates.delete(name);
      else this.#certificates.set(name, certificate);
    }
    this.#httpAnswers = new Map(httpAnswers);
    this.#alpnAnswers = new Map(alpnAnswers);
  }

  /** @param name lower case @returns undefined when there is none, or it has expired or cannot be used */
  select(name: string): SecureContext | undefined {
    const certificate = this.#certificates.get(name);
    if (certificate === undefined) return undefined;
    const { expiresAtMs } = certificate;
    if (this.#nowMs() >= expiresAtMs) return this.#leaveOut(name, `it expired at ${timestamp(expiresAtMs)}`);
    try {
      const context = this.#contexts.get(name) ?? this.#contextOf(certificate);
      this.#keep(name, context);
      return context;
    } catch (error) {
      this.#certificates.delete(name);
      return this.#leaveOut(name, messageOf(error));
    }
  }

  #leaveOut(name: string, reason: string): undefined {
    if (!this.#unusable.has(name)) this.#onUnusable({ name, reason });
    this.#unusable.add(name);
  }

  #keep(name: string, context: SecureContext): void {
    this.#contexts.delete(name);
    this.#contexts.set(name, context);
    const { value: oldest } = this.#contexts.keys().next();
    if (this.#contexts.size > CONTEXTS_MAX && oldest !== undefined) this.#contexts.delete(oldest);
  }

  /** The key authorization of a token of http-01. */
  httpAnswer(token: string): string | undefined {
    return this.#httpAnswers.get(token);
  }

  /** Whether there are any answers. */
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
