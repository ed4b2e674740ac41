/**
 * Asks the ACME directory for the time at which it suggests to renew a certificate (RFC 9773), for every certificate
 * whose next question is due, and stores the time of the renewal. A directory that does not answer delays nothing: the
 * certificate is then renewed after two thirds of its life. Only the holder of the lease asks. Owns the questions under
 * way.
 */
import type { Clock } from '../../lib/clock.ts';
import { randomFraction } from '../../lib/ids.ts';
import type { Logger } from '../../observe/log.ts';
import type { AcmeCertificate, AcmeStore } from '../../storage/acme-store.ts';
import type { AcmeClient } from './acme-client.ts';
import { ClockDiffers } from './directory-http.ts';
import type { AcmeView } from './acme-view.ts';
import { isBefore, nextWindowCheckMs, renewInWindowMs } from './renewal.ts';
import type { WantedNames } from './wanted-names.ts';
import { renewalId } from './x509.ts';

/** Limit of certificates that one round asks for. */
const ASKED_AT_ONCE = 5;

interface RenewalWindowsDeps {
  /** URL of the directory: certificates of other directories are not asked for. */
  readonly directory: string;
  readonly store: () => AcmeStore;
  readonly view: AcmeView;
  readonly client: AcmeClient;
  /** Names the process in the lease. */
  readonly holder: string;
  readonly wanted: () => WantedNames;
  /** Ends the questions. */
  readonly signal: AbortSignal;
  /** Called when the answer of a question could not be stored. */
  readonly onFailure: (error: unknown) => void;
  /** Called after each answer of the directory; undefined: this machine's clock is right. */
  readonly onClock: (error: ClockDiffers | undefined) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export class RenewalWindows {
  readonly #deps: RenewalWindowsDeps;
  #asking: Promise<void> | undefined;

  constructor(deps: RenewalWindowsDeps) {
    this.#deps = deps;
  }

  get isDue(): boolean {
    return this.#due().length > 0;
  }

  /** Resolves when no question is under way. */
  get asked(): Promise<void> {
    return this.#asking ?? Promise.resolve();
  }

  /** Asks for the certificates that are due, unless questions are under way. Does not wait for the answers. */
  ask(): void {
    this.#asking ??= this.#askAll().finally(() => (this.#asking = undefined));
  }

  #due(): AcmeCertificate[] {
    const { view, wanted, directory: own, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const names = wanted();
    return [...view.rows.values()]
      .filter(
        ({ name, window_check_ms: checkMs, directory }) =>
          checkMs !== null && !isBefore(checkMs, nowMs) && directory === own && names.has(name),
      )
      .slice(0, ASKED_AT_ONCE);
  }

  /** Never rejects. */
  async #askAll(): Promise<void> {
    try {
      for (const row of this.#due()) {
        if (!this.#deps.signal.aborted) await this.#ask(row);
      }
    } catch (error) {
      this.#deps.onFailure(error);
    }
  }

  async #ask(row: AcmeCertificate): Promise<void> {
    const { client, store, holder, clock, view, log } = this.#deps;
    const { name, chain, valid_from_ms: validFromMs, expires_at_ms: expiresAtMs } = row;
    if (chain === null || validFromMs === null || expiresAtMs === null) return;
    const nowMs = clock.nowMs();
    let change: Partial<AcmeCertificate> = { window_check_ms: nextWindowCheckMs(nowMs, undefined) };
    try {
      const id = await renewalId(chain);
      const found = id === undefined ? undefined : await client.renewalWindow(id);
      if (found !== undefined) await this.#checkClock();
      if (found === undefined) change = { window_check_ms: null };
      else {
        const renewMs = renewInWindowMs(found.value, { validFromMs, expiresAtMs }, randomFraction());
        // A chosen time of renewal stays as long as it is within the window.
        const { startMs, endMs } = found.value;
        const isIn = row.renew_at_ms !== null && row.renew_at_ms >= startMs && row.renew_at_ms <= endMs;
        change = {
          window_check_ms: nextWindowCheckMs(nowMs, found.retryAfterMs),
          ...(!isIn && { renew_at_ms: renewMs }),
        };
      }
    } catch (error) {
      // The renewal after two thirds of the life stays.
      log.debug({ err: error, name }, 'the directory does not say when to renew');
    }
    await store().as(holder).change(name, change);
    await view.refresh();
  }

  /** With a clock that is far behind, an expired certificate seems valid, and no order is due that would tell. */
  async #checkClock(): Promise<void> {
    const { client, onClock } = this.#deps;
    try {
      await client.checkClock();
      onClock(undefined);
    } catch (error) {
      if (!(error instanceof ClockDiffers)) throw error;
      onClock(error);
    }
  }
}
