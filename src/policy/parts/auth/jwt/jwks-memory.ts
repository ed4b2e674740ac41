/**
 * Bounds the memory of all key sets of a worker: those that are kept, and those that are being fetched. When there is
 * no room, sets that are no longer used are removed first, then the largest, so that many or large key sets take
 * nothing from small ones. Owns the sizes.
 */

/** Estimated. */
export const KEY_SETS_BYTES_MAX = 64 * 1024 * 1024;

export interface KeyHolder {
  /** Its key set can be fetched again at its next use, with no loss. */
  isUnused(): boolean;
  /** It must release its key set, whose size is already subtracted. */
  giveWay(isUnused: boolean): void;
}

/** The end of a sentence about a key set. */
export const NO_ROOM = `all key sets of a worker together may take ${KEY_SETS_BYTES_MAX / 1024 ** 2} MiB, and this one is the largest`;

export class KeySetMemory {
  readonly #sizes = new Map<KeyHolder, number>();
  #total = 0;

  /** Estimated bytes; never more than `KEY_SETS_BYTES_MAX`. */
  get total(): number {
    return this.#total;
  }

  /** Sets the size of a holder. @returns false if there is no room; the size is then unchanged */
  resize(holder: KeyHolder, bytes: number): boolean {
    const growth = bytes - (this.#sizes.get(holder) ?? 0);
    if (this.#isOver(growth)) this.#dropUnused(holder);
    while (this.#isOver(growth)) {
      const largest = this.#largestBut(holder);
      if (largest === undefined || (this.#sizes.get(largest) ?? 0) <= bytes) return false;
      this.release(largest);
      largest.giveWay(false);
    }
    this.#total += growth;
    this.#sizes.set(holder, bytes);
    return true;
  }

  release(holder: KeyHolder): void {
    this.#total -= this.#sizes.get(holder) ?? 0;
    this.#sizes.delete(holder);
  }

  #isOver(growth: number): boolean {
    return growth > 0 && this.#total + growth > KEY_SETS_BYTES_MAX;
  }

  #dropUnused(except: KeyHolder): void {
    for (const holder of this.#sizes.keys()) {
      if (holder === except || !holder.isUnused()) continue;
      this.release(holder);
      holder.giveWay(true);
    }
  }

  #largestBut(except: KeyHolder): KeyHolder | undefined {
    let largest: KeyHolder | undefined;
    let most = 0;
    for (const [holder, bytes] of this.#sizes) {
      if (holder === except || bytes <= most) continue;
      largest = holder;
      most = bytes;
    }
    return largest;
  }
}
