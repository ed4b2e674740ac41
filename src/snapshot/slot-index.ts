/**
 * A hash table from texts to small whole numbers (slots) that does not hold the texts: the owner keeps them and
 * is asked whether a slot is the right one. Eight bytes an entry at a load of at most two thirds, outside of the
 * garbage-collected heap, so that a million keys cost megabytes and no pauses.
 *
 * Open addressing with linear probing; deletion moves later entries back, so that there are no tombstones.
 */

const EMPTY = -1;
const CAPACITY_MIN = 16;

/** FNV-1a over UTF-16 units, with a final mix (the low bits choose the place). Not secret, not signed. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

export class SlotIndex {
  /** Pairs of hash and slot. */
  #table = emptyTable(CAPACITY_MIN);
  #mask = CAPACITY_MIN - 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The slot of the text with this hash that `isRight` says yes to, or -1. */
  find(hash: number, isRight: (slot: number) => boolean): number {
    const place = this.#placeOf(hash, isRight);
    return place < 0 ? EMPTY : (this.#table[place * 2 + 1] as number);
  }

  /** Adds an entry; the caller has made sure that the text is not in the table. */
  add(hash: number, slot: number): void {
    if ((this.#size + 1) * 3 > (this.#mask + 1) * 2) this.#grow();
    insert(this.#table, this.#mask, hash, slot);
    this.#size++;
  }

  delete(hash: number, isRight: (slot: number) => boolean): void {
    let hole = this.#placeOf(hash, isRight);
    if (hole < 0) return;
    const table = this.#table;
    const mask = this.#mask;
    this.#size--;
    // Whatever follows in the same run and may stand in the hole moves there, until the run ends.
    for (let place = (hole + 1) & mask; table[place * 2 + 1] !== EMPTY; place = (place + 1) & mask) {
      const home = (table[place * 2] as number) & mask;
      if (((place - home) & mask) < ((place - hole) & mask)) continue;
      table[hole * 2] = table[place * 2] as number;
      table[hole * 2 + 1] = table[place * 2 + 1] as number;
      hole = place;
    }
    table[hole * 2 + 1] = EMPTY;
  }

  #placeOf(hash: number, isRight: (slot: number) => boolean): number {
    const table = this.#table;
    for (let place = hash & this.#mask; ; place = (place + 1) & this.#mask) {
      const slot = table[place * 2 + 1] as number;
      if (slot === EMPTY) return -1;
      if (table[place * 2] === hash && isRight(slot)) return place;
    }
  }

  #grow(): void {
    const old = this.#table;
    const mask = this.#mask * 2 + 1;
    const table = emptyTable(mask + 1);
    for (let index = 0; index < old.length; index += 2) {
      const slot = old[index + 1] as number;
      if (slot !== EMPTY) insert(table, mask, old[index] as number, slot);
    }
    this.#table = table;
    this.#mask = mask;
  }
}

function emptyTable(capacity: number): Int32Array {
  return new Int32Array(capacity * 2).fill(EMPTY);
}

function insert(table: Int32Array, mask: number, hash: number, slot: number): void {
  let place = hash & mask;
  while (table[place * 2 + 1] !== EMPTY) place = (place + 1) & mask;
  table[place * 2] = hash;
  table[place * 2 + 1] = slot;
}
