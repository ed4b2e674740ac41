/** Events of certificates that expire soon, or have expired: those from files, and those that the gateway ordered. */
import { createHash } from 'node:crypto';
import { timestamp } from '../../lib/clock.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import { reachedThreshold, wholeDays } from './thresholds.ts';
import type { ToldOnce } from './told-once.ts';

const NAMES_MAX = 20;
const ID_CHARS = 32;

export class CertificateEvents {
  readonly #told: ToldOnce;
  readonly #days: readonly number[];

  /** @param days before the expiry of a certificate at which an event is recorded */
  constructor(told: ToldOnce, days: readonly number[]) {
    this.#told = told;
    this.#days = days;
  }

  /**
   * @param listener where they are used: `traffic`, `management`, `backends`, `collectors`; `clients` for authorities
   */
  look(listener: string, certificates: readonly CertificateFacts[], nowMs: number): void {
    if (this.#days.length === 0) return;
    for (const { names, expiresAtMs } of certificates) {
      const threshold = expiresAtMs <= nowMs ? 0 : reachedThreshold(expiresAtMs, nowMs, this.#days);
      if (threshold === undefined) continue;
      const end = timestamp(expiresAtMs);
      // Every gateway has its own copy of a file.
      const id = createHash('sha256')
        .update(JSON.stringify([listener, names, end]))
        .digest('hex')
        .slice(0, ID_CHARS);
      this.#told.record({
        type: 'certificate.ending',
        dedupe_key: `certificate.ending:${id}:${threshold}`,
        subject: { kind: 'certificate', id, name: names[0] ?? listener },
        data: {
          listener,
          names: names.slice(0, NAMES_MAX).map((name) => name.slice(0, 1_000)),
          expires_at: end,
          days_left: wholeDays(expiresAtMs - nowMs),
        },
      });
    }
  }
}
