/**
 * Logs that a deprecated version is still used (contract part 3): the first use at once, then at most one line per
 * version and interval with the number of requests since the last line. Collects the reports of all workers.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { FromWorker } from '../workers/protocol.ts';
import { LogThrottle } from './log-throttle.ts';

type Report = Extract<FromWorker, { type: 'deprecated_used' }>;

const DEPRECATION_INTERVAL_MS = 10_000;

export class DeprecationLog {
  readonly #warnings: LogThrottle<Report>;

  constructor(log: Logger, clock: Clock) {
    this.#warnings = new LogThrottle(clock, DEPRECATION_INTERVAL_MS, (last, requests) => {
      const { name, versionId, requestId } = last;
      log.warn(
        { version: name, version_id: versionId, requests, request_id: requestId },
        `requests to deprecated version ${name}`,
      );
    });
  }

  report(report: Report): void {
    this.#warnings.report(report.versionId, report, report.count);
  }

  /** Writes the lines that are due. Call it about once a second. */
  tick(): void {
    this.#warnings.tick();
  }
}
