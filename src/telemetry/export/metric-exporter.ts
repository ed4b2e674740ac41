/**
 * Exports metrics, one reading at a time. A reading that arrives during an export, or while the collector asks to send
 * nothing, is skipped, because the next one includes it.
 */
import { ASKED_WAIT_MS_MAX } from './export-answers.ts';
import { systemClock } from '../../lib/clock.ts';
import { MetricDeltas, type Temporality } from '../metrics/metric-deltas.ts';
import { readFamilies } from '../metrics/metric-families.ts';
import { metricRequests } from '../metrics/metric-requests.ts';
import type { Collector } from './collector.ts';
import { bodyOf } from './export-body.ts';
import type { Origin } from './export-request.ts';

export interface MetricExporterOptions {
  readonly collector: Pick<Collector, 'export'>;
  readonly origin: Origin;
  /** Unix milliseconds: the start of all counters. */
  readonly startMs: number;
  readonly temporality: Temporality;
  /**
   * This exporter replaces another one, whose last exports are not known: deltas begin with the first reading,
   * so that nothing is counted twice.
   */
  readonly isReplacement: boolean;
}

export class MetricExporter {
  readonly #options: MetricExporterOptions;
  readonly #deltas: MetricDeltas;
  #isFirstLeftOut: boolean;
  #underWay: Promise<void> | undefined;
  #exported = 0;
  #failed = 0;
  #problem = '';
  /** The collector asked to send nothing until then. */
  #notBeforeMs = 0;

  constructor(options: MetricExporterOptions) {
    const { temporality, startMs, isReplacement } = options;
    this.#options = options;
    this.#deltas = new MetricDeltas(temporality, startMs);
    this.#isFirstLeftOut = isReplacement && temporality !== 'cumulative';
  }

  /** Points that the collector accepted and did not accept, and the reason; '' after a success. */
  get state(): { readonly exported: number; readonly failed: number; readonly problem: string } {
    return { exported: this.#exported, failed: this.#failed, problem: this.#problem };
  }

  /** @param text of `GET /metrics`. @param nowMs when it was read, Unix milliseconds */
  add(text: string, nowMs: number): void {
    if (systemClock.monotonicMs() < this.#notBeforeMs) return;
    this.#underWay ??= this.#export(text, nowMs).finally(() => (this.#underWay = undefined));
  }

  /** Resolves when no export is under way. */
  async finish(): Promise<void> {
    await this.#underWay;
  }

  async #export(text: string, nowMs: number): Promise<void> {
    const { collector, origin, startMs, temporality } = this.#options;
    const families = this.#deltas.read(readFamilies(text));
    if (this.#isFirstLeftOut) {
      this.#isFirstLeftOut = false;
      this.#deltas.took(families, nowMs);
      this.#deltas.tookAll(nowMs);
      return;
    }
    let problems = '';
    for (const request of metricRequests(families, origin, { startMs, nowMs }, temporality)) {
      const { failed, problem, waitMs = 0 } = await collector.export(bodyOf(request.body, request.points));
      this.#failed += failed;
      this.#exported += request.points - failed;
      problems ||= problem;
      if (waitMs > 0) this.#notBeforeMs = systemClock.monotonicMs() + Math.min(ASKED_WAIT_MS_MAX, waitMs);
      if (failed < request.points) this.#deltas.took(request.families, nowMs);
    }
    if (problems === '') this.#deltas.tookAll(nowMs);
    this.#problem = problems;
  }
}
