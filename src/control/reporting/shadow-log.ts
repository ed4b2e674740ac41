/**
 * Writes the log line "would deny" for policies in shadow mode from the reports of all workers. The first line of a
 * route and part is written with the first report, then at most one in ten seconds with the number of requests since.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { rowKey, type ShadowRow } from '../../observe/shadow-tally.ts';
import { LogThrottle } from './log-throttle.ts';

const SHADOW_LOG_INTERVAL_MS = 10_000;

export class ShadowLog {
  readonly #throttle: LogThrottle<ShadowRow>;

  constructor(log: Logger, clock: Clock) {
    this.#throttle = new LogThrottle(clock, SHADOW_LOG_INTERVAL_MS, (row, requests) =>
      log.warn(fieldsOf(row, requests), 'would deny'),
    );
  }

  report(rows: readonly ShadowRow[]): void {
    for (const row of rows) this.#throttle.report(rowKey(row), row, row.count);
  }

  tick(): void {
    this.#throttle.tick();
  }
}

function fieldsOf({ route, appId, last }: ShadowRow, requests: number): Record<string, unknown> {
  return {
    part: last.part,
    app_id: appId,
    ...(route && { app: route.app, version: route.version, revision: route.revision }),
    ...(route && { method: route.method, route: route.route, endpoint_id: route.endpointId }),
    code: last.code,
    detail: last.detail,
    requests,
    request_id: last.requestId,
  };
}
