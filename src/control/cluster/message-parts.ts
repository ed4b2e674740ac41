/** Assembles texts that arrive in parts, one text per sender. Parts that do not match are dropped. */
const SENDERS_MAX = 1_000;

interface Arriving {
  readonly parts: (string | undefined)[];
  missing: number;
}

export class MessageParts {
  readonly #partsMax: number;
  readonly #arriving = new Map<string, Arriving>();

  /** @param partsMax limit of the parts of one text */
  constructor(partsMax: number) {
    this.#partsMax = partsMax;
  }

  /**
   * @param index from 0
   * @param count number of parts, the same in each
   * @returns the whole text with its last part
   */
  add(sender: string, index: number, count: number, part: string): string | undefined {
    if (!Number.isInteger(index) || !Number.isInteger(count)) return undefined;
    if (index < 0 || index >= count || count > this.#partsMax) return undefined;
    let text = this.#arriving.get(sender);
    if (text === undefined) {
      if (this.#arriving.size >= SENDERS_MAX) return undefined;
      text = { parts: Array.from({ length: count }), missing: count };
      this.#arriving.set(sender, text);
    }
    if (text.parts.length !== count || text.parts[index] !== undefined) return undefined;
    text.parts[index] = part;
    text.missing -= 1;
    return text.missing === 0 ? text.parts.join('') : undefined;
  }
}
