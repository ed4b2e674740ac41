/**
 * The warning that a deprecated version is still used (contract part 3): the first use is logged at once, then
 * at most one line per version and interval, with the number of requests since the last. Gathers what all
 * workers report.
 */
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { FromWorker } from './protocol.ts';

type Report = Extract<FromWorker, { type: 'deprecated_used' }>;

export const DEPRECATION_INTERVAL_MS = 10_000;

interface Entry {
  loggedMs: number;
  count: number;
  last: Report;
}

export class DeprecationLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  report(report: Report): void {
    const entry = this.#entries.get(report.versionId);
    if (entry === undefined) {
      const fresh = { loggedMs: 0, count: report.count, last: report };
      this.#entries.set(report.versionId, fresh);
      this.#write(fresh);
      return;
    }
    entry.count += report.count;
    entry.last = report;
  }

  /** Writes the lines that are due; to be called about once a second. */
  tick(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [versionId, entry] of this.#entries) {
      if (nowMs - entry.loggedMs < DEPRECATION_INTERVAL_MS) continue;
      // A version that was not used for a whole interval is forgotten: its next use is a first one again.
      if (entry.count === 0) this.#entries.delete(versionId);
      else this.#write(entry);
    }
  }

  #write(entry: Entry): void {
    const { name, versionId, requestId } = entry.last;
    this.#log.warn(
      { version: name, version_id: versionId, requests: entry.count, request_id: requestId },
      `requests to deprecated version ${name}`,
    );
    entry.count = 0;
    entry.loggedMs = this.#clock.monotonicMs();
  }
}
