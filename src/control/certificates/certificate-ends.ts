/**
 * Finds certificates that need an operator: expired, expiring within two weeks, or not valid yet. They are still
 * served, because some clients may accept them, and without a certificate every handshake fails. Pure functions, and a
 * class that repeats a warning once a day.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';

const DAY_MS = 86_400_000;
/** Renewals run weeks before the expiry; without one by then, the renewal has failed. */
const WARN_BEFORE_MS = 14 * DAY_MS;

/** Who presents the certificates to clients. */
export type ListenerName = 'traffic' | 'management';
/**
 * `backends` and `collectors`: the gateway presents them to backends, or to collectors of telemetry; `clients`: it
 * verifies client certificates with them.
 */
export type CertificateUse = ListenerName | 'backends' | 'clients' | 'collectors';

export interface CertificateProblem {
  /** Position in the setting, from 1. */
  readonly certificate: number;
  readonly facts: CertificateFacts;
  readonly state: 'expired' | 'expires_soon' | 'not_valid_yet';
}

export function certificateProblems(
  certificates: readonly CertificateFacts[],
  nowMs: number,
): CertificateProblem[] {
  const problems: CertificateProblem[] = [];
  for (const [index, facts] of certificates.entries()) {
    const state = certificateState(facts, nowMs);
    if (state !== 'valid') problems.push({ certificate: index + 1, facts, state });
  }
  return problems;
}

/** For people; undefined without problems. */
export function problemText(
  problems: readonly CertificateProblem[],
  use: CertificateUse,
): string | undefined {
  if (problems.length === 0) return undefined;
  return problems.map((problem) => sentenceOf(problem, use)).join('. ');
}

export function certificateState(
  { validFromMs, expiresAtMs }: CertificateFacts,
  nowMs: number,
): CertificateProblem['state'] | 'valid' {
  if (nowMs >= expiresAtMs) return 'expired';
  if (nowMs < validFromMs) return 'not_valid_yet';
  return nowMs >= expiresAtMs - WARN_BEFORE_MS ? 'expires_soon' : 'valid';
}

function sentenceOf({ certificate, facts, state }: CertificateProblem, use: CertificateUse): string {
  const { names, validFromMs, expiresAtMs } = facts;
  const name = names[0] === undefined ? '' : ` (${names[0]})`;
  const what = subjectOf(certificate, names[0] ?? '', name, use);
  switch (state) {
    case 'expired':
      return `${what} expired at ${timestamp(expiresAtMs)}`;
    case 'expires_soon':
      return `${what} expires at ${timestamp(expiresAtMs)}`;
    case 'not_valid_yet':
      return `${what} is not valid before ${timestamp(validFromMs)}`;
  }
}

function subjectOf(certificate: number, name: string, also: string, use: CertificateUse): string {
  if (use === 'backends') return `The client certificate "${name}"`;
  if (use === 'collectors') return `The client certificate for collectors${also}`;
  if (use === 'clients') return `A trusted certificate of "${name}"`;
  return `Certificate ${certificate} of the ${use} listener${also}`;
}

const WHAT: Readonly<Record<CertificateUse, string>> = {
  traffic: 'a certificate of the traffic listener',
  management: 'a certificate of the management listener',
  backends: 'a client certificate',
  clients: 'a trusted certificate for clients',
  collectors: 'a client certificate for collectors',
};

const MESSAGES = {
  expired: 'has expired and is still used',
  expires_soon: 'expires soon',
  not_valid_yet: 'is not valid yet but is used',
} as const;

/** Warns of each certificate once, again after a day, and when something changes. */
export class CertificateReminder {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #use: CertificateUse;
  #last = '';
  #warnedMs = -Infinity;

  constructor(clock: Clock, log: Logger, use: CertificateUse) {
    this.#clock = clock;
    this.#log = log;
    this.#use = use;
  }

  /** Call it about once a second. */
  look(certificates: readonly CertificateFacts[]): void {
    const problems = certificateProblems(certificates, this.#clock.nowMs());
    const text = problemText(problems, this.#use) ?? '';
    const nowMs = this.#clock.monotonicMs();
    if (text === this.#last && nowMs - this.#warnedMs < DAY_MS) return;
    this.#last = text;
    this.#warnedMs = nowMs;
    for (const { certificate, facts, state } of problems) {
      const fields = {
        certificate,
        names: facts.names,
        valid_from: timestamp(facts.validFromMs),
        expires_at: timestamp(facts.expiresAtMs),
      };
      this.#log.warn(fields, `${WHAT[this.#use]} ${MESSAGES[state]}`);
    }
  }
}
