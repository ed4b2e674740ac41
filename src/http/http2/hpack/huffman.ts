/**
 * The Huffman code of HPACK (RFC 7541 section 5.2, appendix B). The code is canonical, so it follows from its
 * lengths alone. Text is decoded four bits at a time, by a table of states that is built for the first text: 257
 * inner nodes of the code's tree, with 16 steps each. A step produces at most one byte, because no code has fewer
 * than five bits.
 */
import { latin1Text } from '../../latin1.ts';

/** Lengths of the codes of 0 to 255, and of the end of the string (EOS). */
const LENGTHS: readonly number[] = [
  [13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  [28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  [5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  [7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  [6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  [24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  [22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  [21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  [26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  [19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  [20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  [26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  [30],
].flat();
const EOS = 256;

/** By symbol: the code, and its length in bits. */
export interface HuffmanCode {
  readonly code: number;
  readonly bits: number;
}

/** RFC 7541 appendix B: codes of one length ascend with their symbols, and longer ones follow. */
export function huffmanCodes(): readonly HuffmanCode[] {
  const codes: HuffmanCode[] = Array.from(LENGTHS, () => ({ code: 0, bits: 0 }));
  let code = 0;
  for (let bits = 1; bits <= 30; bits++) {
    for (const [symbol, length] of LENGTHS.entries()) {
      if (length !== bits) continue;
      codes[symbol] = { code, bits };
      code += 1;
    }
    code *= 2;
  }
  return codes;
}

/** The next state is in the low bits; a step that no code has leads nowhere. */
const STATE_BITS = 9;
const STATE_MASK = (1 << STATE_BITS) - 1;
/** The step produces the byte in the bits above. */
const HAS_BYTE = 1 << STATE_BITS;
const BYTE_SHIFT = STATE_BITS + 1;
const NOWHERE = -1;

const steps = new Int32Array(257 * 16).fill(NOWHERE);
/** States in which a string may end: less than a byte of ones behind the last code (section 5.2). */
const mayEnd = new Uint8Array(257);
let isFilled = false;

function fillSteps(): void {
  isFilled = true;
  // The inner nodes of the tree: two branches each, to a node, or to the symbol below zero.
  const tree: number[][] = [[0, 0]];
  for (const [symbol, { code, bits }] of huffmanCodes().entries()) {
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const branches = tree[node] as number[];
      const side = (code >>> bit) & 1;
      if (branches[side] === 0) branches[side] = tree.push([0, 0]) - 1;
      node = branches[side] as number;
    }
    (tree[node] as number[])[code & 1] = -1 - symbol;
  }
  for (let node = 0, ones = 0; ones < 8; ones++) {
    mayEnd[node] = 1;
    node = tree[node]?.[1] as number;
  }
  for (const start of tree.keys())
    for (let nibble = 0; nibble < 16; nibble++) steps[start * 16 + nibble] = step(tree, start, nibble);
}

function step(tree: readonly number[][], start: number, nibble: number): number {
  let node = start;
  let found = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = tree[node]?.[(nibble >>> bit) & 1] as number;
    if (next === -1 - EOS) return NOWHERE;
    if (next < 0) found = HAS_BYTE | ((-1 - next) << BYTE_SHIFT);
    node = Math.max(next, 0);
  }
  return found | node;
}

let decoded = Buffer.allocUnsafeSlow(4 * 1024);

/**
 * The text of `bytes[from, to)`, one character per byte; undefined if it is invalid: EOS, or invalid padding.
 */
export function huffmanText(bytes: Buffer, from: number, to: number): string | undefined {
  if (!isFilled) fillSteps();
  // The shortest code has five bits.
  const lengthMax = Math.ceil(((to - from) * 8) / 5);
  if (lengthMax > decoded.length) decoded = Buffer.allocUnsafeSlow(lengthMax * 2);
  let state = 0;
  let length = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    const first = steps[state * 16 + (byte >>> 4)] as number;
    if (first < 0) return undefined;
    if ((first & HAS_BYTE) !== 0) decoded[length++] = first >>> BYTE_SHIFT;
    const second = steps[(first & STATE_MASK) * 16 + (byte & 15)] as number;
    if (second < 0) return undefined;
    if ((second & HAS_BYTE) !== 0) decoded[length++] = second >>> BYTE_SHIFT;
    state = second & STATE_MASK;
  }
  return mayEnd[state] === 1 ? latin1Text(decoded, 0, length) : undefined;
}
