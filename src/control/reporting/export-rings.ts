/**
 * The rings of one exported signal, by writing thread, and the number of items without room. Owns the rings: they
 * outlive the threads on both sides.
 */
import type { RingSignal, ToExporter } from '../../telemetry/export/export-messages.ts';
import { droppedItems, queuedBytes, type BatchRing } from '../../telemetry/ring/batch-ring.ts';

interface ThreadRing {
  readonly ring: BatchRing;
  isEnded: boolean;
}

export class ExportRings {
  readonly #signal: RingSignal;
  readonly #post: (message: ToExporter) => void;
  /** By the number of the worker; 0 is the main thread. */
  readonly #rings = new Map<number, ThreadRing>();
  /** Items dropped in rings that were removed. */
  #dropped = 0;

  /** @param post sends to the exporting thread */
  constructor(signal: RingSignal, post: (message: ToExporter) => void) {
    this.#signal = signal;
    this.#post = post;
  }

  get dropped(): number {
    return this.#sum(droppedItems, this.#dropped);
  }

  get queuedBytes(): number {
    return this.#sum(queuedBytes, 0);
  }

  add(id: number, ring: BatchRing): void {
    this.#rings.set(id, { ring, isEnded: false });
    this.#post({ type: 'ring', signal: this.#signal, id, ring });
  }

  /** The ring receives nothing more. */
  end(id: number): void {
    const known = this.#rings.get(id);
    if (known === undefined) return;
    known.isEnded = true;
    this.#post({ type: 'ring_ended', signal: this.#signal, id });
  }

  /** The ring is empty for good. */
  remove(id: number): void {
    const known = this.#rings.get(id);
    this.#rings.delete(id);
    if (known !== undefined) this.#dropped += droppedItems(known.ring);
  }

  /** Tells a new exporting thread about all rings. */
  announce(): void {
    for (const [id, { ring, isEnded }] of this.#rings) {
      this.#post({ type: 'ring', signal: this.#signal, id, ring });
      if (isEnded) this.#post({ type: 'ring_ended', signal: this.#signal, id });
    }
  }

  #sum(value: (ring: BatchRing) => number, start: number): number {
    return [...this.#rings.values()].reduce((total, { ring }) => total + value(ring), start);
  }
}
