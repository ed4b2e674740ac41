/**
 * The log lines "would deny" of policies in shadow mode: one at the first request of a route and part, then at most
 * one in ten seconds with the number of requests since. Gathers what all workers report.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { rowKey, sharedRowKey, type WouldDenyRow } from '../../observe/shadow-denials.ts';
import { LogThrottle } from './log-throttle.ts';

export const SHADOW_LOG_INTERVAL_MS = 10_000;

export class ShadowLog {
  readonly #warnings: LogThrottle<WouldDenyRow>;

  constructor(log: Logger, clock: Clock) {
    this.#warnings = new LogThrottle(clock, SHADOW_LOG_INTERVAL_MS, ({ route, appId, last }, count) =>
      log.warn(
        {
          part: last.part,
          app_id: appId,
          ...(route && { app: route.app, version: route.version, revision: route.revision }),
          ...(route && { method: route.method, route: route.route, endpoint_id: route.endpointId }),
          code: last.code,
          detail: last.detail,
          requests: count,
          request_id: last.requestId,
        },
        'would deny',
      ),
    );
  }

  report(rows: readonly WouldDenyRow[]): void {
    for (const row of rows) {
      const { route, appId, last } = row;
      const kind = route === undefined ? sharedRowKey(appId, last.part) : rowKey(route, last.part);
      this.#warnings.report(kind, row, row.count);
    }
  }

  tick(): void {
    this.#warnings.tick();
  }
}
