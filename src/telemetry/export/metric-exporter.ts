/**
 * Exports metrics, one reading at a time: one that comes while the one before is on its way is left out, since the next
 * has all of it (sums are cumulative).
 */
import { metricRequests } from '../metrics/metric-requests.ts';
import type { Collector } from './collector.ts';
import type { Origin } from './export-request.ts';

export interface MetricExporterOptions {
  readonly collector: Pick<Collector, 'export'>;
  readonly origin: Origin;
  /** Unix milliseconds: since when counters count. */
  readonly startMs: number;
}

export class MetricExporter {
  readonly #options: MetricExporterOptions;
  #underWay: Promise<void> | undefined;
  #exported = 0;
  #failed = 0;
  #problem = '';

  constructor(options: MetricExporterOptions) {
    this.#options = options;
  }

  /** Points that the collector took and did not take, and why not; '' after a success. */
  get state(): { readonly exported: number; readonly failed: number; readonly problem: string } {
    return { exported: this.#exported, failed: this.#failed, problem: this.#problem };
  }

  /** @param text of `GET /metrics`. @param nowMs when it was read, Unix milliseconds */
  add(text: string, nowMs: number): void {
    this.#underWay ??= this.#export(text, nowMs).finally(() => (this.#underWay = undefined));
  }

  /** Resolves when nothing is under way. */
  async finish(): Promise<void> {
    await this.#underWay;
  }

  async #export(text: string, nowMs: number): Promise<void> {
    const { collector, origin, startMs } = this.#options;
    let problems = '';
    for (const { body, points } of metricRequests(text, origin, { startMs, nowMs })) {
      const { failed, problem } = await collector.export(body, points);
      this.#failed += failed;
      this.#exported += points - failed;
      problems ||= problem;
    }
    this.#problem = problems;
  }
}
