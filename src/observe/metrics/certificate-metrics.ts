/** Metrics of certificates: when they expire, and the orders of certificates by ACME. */
import type { Exposition } from './exposition.ts';

/** A certificate of the traffic listener. */
export interface CertificateExpiry {
  readonly names: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** By listener, in the order of the setting. */
export type CertificatesByListener = Readonly<Record<string, readonly CertificateExpiry[] | undefined>>;

/** Certificates by ACME. */
export interface AcmeCounts {
  /** By result, since the start of this gateway. */
  readonly orders: ReadonlyMap<string, number>;
  /** Names by the state of their certificate. */
  readonly states: ReadonlyMap<string, number>;
}

/** `certificate` is its position in the setting, from 1. Only its first name is shown, since some have hundreds. */
export function addCertificates(page: Exposition, byListener: CertificatesByListener): void {
  const values = Object.entries(byListener).flatMap(([listener, certificates = []]) =>
    certificates.map(({ names, expiresAtMs }, index) => ({
      labels: { listener, certificate: index + 1, name: names[0] ?? '' },
      value: Math.floor(expiresAtMs / 1000),
    })),
  );
  if (values.length === 0) return;
  const help = 'Unix time at which a certificate expires';
  page.family('gauge', 'headgate_tls_certificate_expiry_seconds', help, values);
}

export function addAcme(
  page: Exposition,
  { orders, states }: AcmeCounts,
  expiring: readonly CertificateExpiry[],
): void {
  const values = (counts: ReadonlyMap<string, number>, label: string) =>
    [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));
  const ordersHelp = 'Finished orders of this gateway for certificates by ACME, by result';
  page.family('counter', 'headgate_acme_orders_total', ordersHelp, values(orders, 'result'));
  const statesHelp = 'Names for which certificates are ordered by ACME, by the state of their certificate';
  page.family('gauge', 'headgate_acme_certificates', statesHelp, values(states, 'state'));
  const expiries = expiring.map(({ names, expiresAtMs }) => ({
    labels: { name: names[0] ?? '' },
    value: Math.floor(expiresAtMs / 1000),
  }));
  if (expiries.length === 0) return;
  const expiryHelp = 'Unix time at which a certificate by ACME expires; the 100 that expire first';
  page.family('gauge', 'headgate_acme_certificate_expiry_seconds', expiryHelp, expiries);
}
