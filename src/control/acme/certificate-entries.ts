/**
 * Certificates as operators see them: those from files, and the names for which certificates are ordered. Pure
 * functions.
 */
import { timestamp } from '../../lib/clock.ts';
import type { CertificateEntry } from '../../management/schemas/overview/certificate-schema.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { AcmeCertificate } from '../../storage/acme-store.ts';
import { certificateState } from '../certificates/certificate-ends.ts';
import { isRenewalUrgent, isUnopened } from './renewal.ts';
import type { WantedNames } from './wanted-names.ts';

/** The facts about names for which certificates are ordered. */
export interface OrderedFacts {
  readonly wanted: WantedNames;
  readonly rows: ReadonlyMap<string, AcmeCertificate>;
  readonly directory: string;
  /** When certificates whose keys cannot be decrypted are ordered again. */
  readonly unopenedReplacedAtMs: number;
}

type Listener = CertificateEntry['listener'];

/** @param files certificates from files, by listener */
export function certificateEntries(
  files: Readonly<Record<string, readonly CertificateFacts[]>>,
  ordered: OrderedFacts | undefined,
  nowMs: number,
): CertificateEntry[] {
  const entries = (['traffic', 'management', 'backends'] as const).flatMap((listener) =>
    (files[listener] ?? []).flatMap((facts) => fileEntries(facts, listener, nowMs)),
  );
  if (ordered !== undefined) {
    for (const name of ordered.wanted.keys()) entries.push(orderedEntry(name, ordered, nowMs));
  }
  return entries.sort((a, b) => compare(a.name, b.name) || compare(a.source, b.source));
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function fileEntries(facts: CertificateFacts, listener: Listener, nowMs: number): CertificateEntry[] {
  const entry = {
    source: 'file',
    listener,
    state: certificateState(facts, nowMs),
    valid_from: timestamp(facts.validFromMs),
    expires_at: timestamp(facts.expiresAtMs),
    order: 'none',
    renew_at: null,
    failures: 0,
    last_error: null,
    failed_at: null,
    next_try_at: null,
  } as const;
  return facts.names.map((name) => ({ name, ...entry }));
}

function orderedEntry(name: string, facts: OrderedFacts, nowMs: number): CertificateEntry {
  const { rows, directory, unopenedReplacedAtMs } = facts;
  const row = rows.get(name);
  const time = (ms: number | null | undefined): string | null =>
    ms === null || ms === undefined ? null : timestamp(ms);
  const isUnderWay = typeof row?.order_key === 'string' && row.order_directory === directory;
  const state = orderedState(row, nowMs);
  const isDue = state === 'missing' || state === 'expired' || (row?.renew_at_ms ?? 0) <= nowMs;
  const isWaitingForKey = row !== undefined && isUnopened(row) && row.renew_at_ms !== 0;
  const waitMs = isWaitingForKey && (row.expires_at_ms ?? 0) > nowMs ? unopenedReplacedAtMs : 0;
  const isServable = typeof row?.chain === 'string' && row.private_key !== null;
  return {
    name,
    source: 'acme',
    listener: 'traffic',
    state,
    valid_from: time(row?.valid_from_ms),
    expires_at: time(row?.expires_at_ms),
    order: isUnderWay ? 'under_way' : isDue ? 'waiting' : 'none',
    renew_at: isServable ? time(row.renew_at_ms) : null,
    failures: row?.failures ?? 0,
    last_error: row?.last_error ?? null,
    failed_at: time(row?.failed_at_ms),
    next_try_at: isDue ? timestamp(Math.max(row?.next_try_ms ?? 0, waitMs, nowMs)) : null,
  };
}

/** The state of the certificate that is served for the name. */
export function orderedState(row: AcmeCertificate | undefined, nowMs: number): CertificateEntry['state'] {
  if (row === undefined || row.chain === null || row.private_key === null) return 'missing';
  if (nowMs >= (row.expires_at_ms ?? 0)) return 'expired';
  if (nowMs < (row.valid_from_ms ?? 0)) return 'not_valid_yet';
  return isRenewalUrgent(row, nowMs) ? 'expires_soon' : 'valid';
}
