/**
 * Keeps an even sample of the requests of a worker, allowed ones included, with which a planned configuration can be
 * tried (traffic-record.ts). Also keeps a few requests of each app: a flood of requests to one app would otherwise
 * leave almost none of the others. Owns the rings of records.
 */
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { EvenSampler } from './even-sampler.ts';
import { RareApps } from './rare-apps.ts';
import { recordOf, type FindKeyId } from './traffic-record.ts';
import { TrafficRing, type PackedTexts } from './traffic-ring.ts';

export interface TrafficOptions {
  /** Limit of this worker, above 0. */
  readonly recordsMax: number;
  readonly recordsPerSecondMax: number;
  readonly findKeyId: FindKeyId;
}

/** Room for records of `RareApps`, as a fraction of that for the sample. */
const RARE_SHARE = 1 / 8;

export class TrafficRecorder {
  readonly #ring: TrafficRing;
  readonly #rareRing: TrafficRing;
  readonly #rareApps = new RareApps();
  readonly #sampler: EvenSampler;
  readonly #findKeyId: FindKeyId;

  constructor({ recordsMax, recordsPerSecondMax, findKeyId }: TrafficOptions) {
    this.#ring = new TrafficRing(recordsMax);
    this.#rareRing = new TrafficRing(Math.ceil(recordsMax * RARE_SHARE));
    this.#sampler = new EvenSampler(recordsPerSecondMax);
    this.#findKeyId = findKeyId;
  }

  exchangeEnded(exchange: ExchangeView): void {
    const isSampled = this.#sampler.takes();
    if (!isSampled && !this.#rareApps.takes(exchange.version?.app.id ?? '')) return;
    const record = recordOf(exchange, this.#findKeyId);
    if (record !== undefined) (isSampled ? this.#ring : this.#rareRing).add(record);
  }

  /** Once a second. */
  tick(): void {
    this.#sampler.tick();
    this.#rareApps.tick();
  }

  /** Of each ring, oldest first. */
  records(): PackedTexts[] {
    return [this.#rareRing.packed(), this.#ring.packed()].filter((packed) => packed !== undefined);
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
