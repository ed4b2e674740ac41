/**
 * How the traffic of a version is split, and moving the borders between its shares. Weights are whole numbers. Pure.
 */
export interface Share {
  readonly revision: string;
  readonly weight: number;
}

/** Below this sum, moving a border by one per cent would not be possible. */
const FINE = 100;

export const totalOf = (shares: readonly Share[]): number =>
  shares.reduce((sum, { weight }) => sum + weight, 0);

const WEIGHT_MAX = 1_000_000;

/** The weight that was typed; undefined: the text is none. */
export function readWeight(text: string): number | undefined {
  const digits = text.trim();
  const weight = /^\d{1,9}$/.test(digits) ? Number(digits) : undefined;
  return weight !== undefined && weight <= WEIGHT_MAX ? weight : undefined;
}

/** The fraction of the whole, from 0 to 1. */
export function shareOf(shares: readonly Share[], index: number): number {
  const total = totalOf(shares);
  return total === 0 ? 0 : (shares[index]?.weight ?? 0) / total;
}

/** The same split with weights that can be moved in steps of one per cent: their sum is at least 100. */
export function withFineWeights(shares: readonly Share[]): readonly Share[] {
  const total = totalOf(shares);
  if (total >= FINE || shares.length === 0) return shares;
  const exact = shares.map(({ weight }) => (total === 0 ? FINE / shares.length : (weight / total) * FINE));
  const whole = exact.map(Math.floor);
  const rest = FINE - whole.reduce((sum, weight) => sum + weight, 0);
  // The largest remainders get what rounding has left over.
  const order = exact
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .toSorted((a, b) => b.remainder - a.remainder);
  const raised = new Set(order.slice(0, rest).map(({ index }) => index));
  return shares.map(({ revision }, index) => ({
    revision,
    weight: (whole[index] ?? 0) + (raised.has(index) ? 1 : 0),
  }));
}

/**
 * Moves the border after the share at `index`; the sum of the two shares beside it stays the same.
 * @param toWeight weight of the share before the border
 */
export function moveBorder(shares: readonly Share[], index: number, toWeight: number): readonly Share[] {
  const [left, right] = [shares[index], shares[index + 1]];
  if (left === undefined || right === undefined) return shares;
  const sum = left.weight + right.weight;
  const weight = Math.min(sum, Math.max(0, Math.round(toWeight)));
  return shares.map((share, at) => {
    if (at === index) return { ...share, weight };
    return at === index + 1 ? { ...share, weight: sum - weight } : share;
  });
}

/** @param weights as in `GET …/traffic` */
export const sharesOf = (weights: Readonly<Record<string, number>>): readonly Share[] =>
  Object.entries(weights).map(([revision, weight]) => ({ revision, weight }));

export const weightsOf = (shares: readonly Share[]): Record<string, number> =>
  Object.fromEntries(shares.map(({ revision, weight }) => [revision, weight]));

export function isSameSplit(a: readonly Share[], b: readonly Share[]): boolean {
  const weights = new Map(a.map(({ revision, weight }) => [revision, weight]));
  return a.length === b.length && b.every(({ revision, weight }) => weights.get(revision) === weight);
}

interface Deployed {
  readonly revision: string;
  readonly is_current: boolean;
}

/**
 * The revision to go back to: the oldest one of a split, or else the one created just before the current one.
 * @param revisions oldest first
 */
export function formerRevision(revisions: readonly Deployed[]): string | undefined {
  const first = revisions.findIndex((one) => one.is_current);
  const isSplit = revisions.filter((one) => one.is_current).length > 1;
  return revisions[isSplit ? first : first - 1]?.revision;
}
