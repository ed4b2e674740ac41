/**
 * Keeps an even sample of the requests of a worker, allowed ones included, as facts that a planned configuration can be
 * asked about (traffic-record.ts). Owns the ring of records.
 */
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { EvenSampler } from './even-sampler.ts';
import { recordOf, type FindKeyId } from './traffic-record.ts';
import { TrafficRing, type PackedTexts } from './traffic-ring.ts';

export interface TrafficOptions {
  /** Limit of this worker, above 0. */
  readonly recordsMax: number;
  readonly recordsPerSecondMax: number;
  readonly findKeyId: FindKeyId;
}

export class TrafficRecorder {
  readonly #ring: TrafficRing;
  readonly #sampler: EvenSampler;
  readonly #findKeyId: FindKeyId;

  constructor({ recordsMax, recordsPerSecondMax, findKeyId }: TrafficOptions) {
    this.#ring = new TrafficRing(recordsMax);
    this.#sampler = new EvenSampler(recordsPerSecondMax);
    this.#findKeyId = findKeyId;
  }

  exchangeEnded(exchange: ExchangeView): void {
    if (!this.#sampler.takes()) return;
    const record = recordOf(exchange, this.#findKeyId);
    if (record !== undefined) this.#ring.add(record);
  }

  /** Once a second. */
  tick(): void {
    this.#sampler.tick();
  }

  /** Oldest first. */
  records(): PackedTexts | undefined {
    return this.#ring.packed();
  }
}

/** The part of a number for the whole gateway that each worker records. */
export function shareOfWorker(
  { records, recordsPerSec }: { readonly records: number; readonly recordsPerSec: number },
  workers: number,
): Pick<TrafficOptions, 'recordsMax' | 'recordsPerSecondMax'> {
  return {
    recordsMax: Math.ceil(records / workers),
    recordsPerSecondMax: Math.ceil(recordsPerSec / workers),
  };
}
