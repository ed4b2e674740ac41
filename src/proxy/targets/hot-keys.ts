/**
 * The order of all targets for keys whose best targets are full repeatedly, so that the next target with room is
 * found without computing every score. Bounded; a key must come twice in a row at its place, because sorting costs
 * more than a single search.
 */
const PLACES = 16;

interface Place {
  key: number;
  order: Uint16Array | undefined;
}

export class HotKeys {
  readonly #orderOf: (key: number) => Uint16Array;
  readonly #places: (Place | undefined)[] = [];

  /** @param orderOf indexes of all targets for a key, best first */
  constructor(orderOf: (key: number) => Uint16Array) {
    this.#orderOf = orderOf;
  }

  /** undefined when the key is not hot yet. */
  orderOf(key: number): Uint16Array | undefined {
    const at = key & (PLACES - 1);
    const place = this.#places[at];
    if (place?.key === key) return (place.order ??= this.#orderOf(key));
    this.#places[at] = { key, order: undefined };
    return undefined;
  }
}
