/**
 * The boundary between certificates by ACME and the database. Every gateway reads; only the holder of the lease writes,
 * and each write checks the lease in its own transaction, so a gateway that was delayed cannot interfere with its
 * successor. Times are Unix milliseconds. Private keys are passed as plain PEM and stored sealed.
 */

/** A name, its certificate and its order under way. */
export interface AcmeCertificate {
  /** Lower case, in A-labels. */
  readonly name: string;
  /**
   * URL of the directory that issued the certificate; null when there is none. The same applies to the next six
   * fields.
   */
  readonly directory: string | null;
  /** PEM, the certificate itself first. */
  readonly chain: string | null;
  /** PEM of the private key; null beside a chain when it cannot be decrypted, and `last_error` says why. */
  readonly private_key: string | null;
  readonly valid_from_ms: number | null;
  readonly expires_at_ms: number | null;
  readonly renew_at_ms: number | null;
  /** When the directory is next asked for the renewal window (RFC 9773). */
  readonly window_check_ms: number | null;
  /** In a row, up to now. */
  readonly failures: number;
  readonly last_error: string | null;
  readonly failed_at_ms: number | null;
  /** No order begins before. */
  readonly next_try_ms: number;
  /** The current order; null when there is none. The same applies to the next three fields. */
  readonly order_directory: string | null;
  /** PEM of the private key for which a certificate was ordered. */
  readonly order_key: string | null;
  /** null while it is not known whether the directory has the order. */
  readonly order_url: string | null;
  readonly order_started_ms: number | null;
}

export type AcmeCertificateChange = Partial<Omit<AcmeCertificate, 'name'>>;

const CHALLENGE_KINDS = ['http-01', 'tls-alpn-01'] as const;
export type ChallengeKind = (typeof CHALLENGE_KINDS)[number];

/** The answer to a challenge, which is public. */
export interface AcmeChallenge {
  readonly token: string;
  readonly name: string;
  readonly kind: ChallengeKind;
  /** RFC 8555 section 8.1. */
  readonly key_authorization: string;
}

interface AcmeAccount {
  readonly directory: string;
  /** PEM. */
  readonly privateKey: string;
  /** undefined: the directory has not confirmed it yet. */
  readonly url: string | undefined;
}

/** The changes since a revision. */
export interface AcmeChanges {
  readonly revision: number;
  readonly certificates: readonly AcmeCertificate[];
  /** All current challenges. */
  readonly challenges: readonly AcmeChallenge[];
  /** No order begins before this time, because the directory asked for a pause. */
  readonly pausedUntilMs: number;
  readonly pausedReason: string | undefined;
}

/** Another gateway orders certificates now; the write of the caller was not made. */
export class AcmeLeaseLost extends Error {
  constructor() {
    super('another gateway orders certificates now');
    this.name = 'AcmeLeaseLost';
  }
}

/** All operations throw StorageUnavailable if the database does not answer. */
export interface AcmeStore {
  /** Takes the lease, or renews it, by the clock of the database; false: another gateway has it. */
  lease(holder: string, ttlMs: number): Promise<boolean>;
  release(holder: string): Promise<void>;
  revision(): Promise<number>;
  /** @param since 0: everything */
  changesSince(since: number): Promise<AcmeChanges>;
  find(name: string): Promise<AcmeCertificate | undefined>;
  /** undefined also for an account whose key cannot be decrypted. */
  account(directory: string): Promise<AcmeAccount | undefined>;
  /** How many orders were begun after a time and before another, by the clocks of the gateways that have begun them. */
  ordersBetween(fromMs: number, toMs: number): Promise<number>;
  /** Writes of the holder of the lease; they throw AcmeLeaseLost. */
  as(holder: string): AcmeWriter;
}

export interface AcmeWriter {
  putAccount(account: AcmeAccount, createdAt: string): Promise<void>;
  /** Creates the row if there is none. */
  change(name: string, change: AcmeCertificateChange): Promise<void>;
  /** Records an order before the request to the directory. */
  beginOrder(id: string, name: string, change: AcmeCertificateChange, nowMs: number): Promise<void>;
  /** Replaces the answers to the challenges of a name. */
  setChallenges(name: string, challenges: readonly AcmeChallenge[]): Promise<void>;
  pause(untilMs: number, reason: string): Promise<void>;
  /** Deletes rows of these names, and orders begun before a time. */
  remove(names: readonly string[], ordersBeforeMs: number): Promise<void>;
}
