/**
 * Divides a range of config versions into segments with equal answers, by asking about some of them. Pure except for
 * `ask`.
 *
 * Nothing changes between two candidates, so a segment begins at a candidate. Differences are located first; then
 * the versions between equal answers are checked, as long as there is time.
 */

export interface SegmentSearch<T> {
  /**
   * Versions whose answer may differ from the answer of the previous version, ascending; includes the first and the
   * last of the range.
   */
  readonly candidates: readonly number[];
  /** The last version of the range. */
  readonly to: number;
  readonly ask: (version: number) => Promise<T>;
  /** Equal for answers that count as the same. */
  readonly keyOf: (answer: T) => string;
  /** Returns false when no more may be asked; the first and the last candidate are asked in any case. */
  readonly mayAsk: () => boolean;
}

interface Segment<T> {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
  /** The answer at `from`. */
  readonly answer: T;
  /** False: it may begin earlier, since not every candidate before it was asked about. */
  readonly isExact: boolean;
}

export interface Segments<T> {
  /** In order, without gaps. */
  readonly segments: readonly Segment<T>[];
  /** Whether every candidate was asked about. */
  readonly isComplete: boolean;
}

export async function findSegments<T>(search: SegmentSearch<T>): Promise<Segments<T>> {
  const { candidates, ask, keyOf } = search;
  const answers: (T | undefined)[] = candidates.map(() => undefined);
  const known: number[] = [];
  const askAt = async (index: number): Promise<void> => {
    answers[index] = await ask(candidates[index] as number);
    known.push(index);
    known.sort((a, b) => a - b);
  };
  await askAt(candidates.length - 1);
  if (candidates.length > 1) await askAt(0);
  const keyAt = (index: number): string => keyOf(answers[index] as T);
  while (search.mayAsk()) {
    const next = widestGap(known, keyAt);
    if (next === undefined) break;
    await askAt(next);
  }
  return {
    segments: merged(search, known, answers),
    isComplete: known.length === candidates.length,
  };
}

/**
 * The middle of the widest gap between known answers, gaps between different answers first; undefined without a
 * gap.
 */
function widestGap(known: readonly number[], keyAt: (index: number) => string): number | undefined {
  let best: { readonly width: number; readonly differs: boolean; readonly middle: number } | undefined;
  for (let at = 1; at < known.length; at++) {
    const [low, high] = [known[at - 1] as number, known[at] as number];
    const width = high - low;
    if (width < 2) continue;
    const differs = keyAt(low) !== keyAt(high);
    if (best !== undefined && (best.differs === differs ? best.width >= width : best.differs)) continue;
    best = { width, differs, middle: low + Math.floor(width / 2) };
  }
  return best?.middle;
}

function merged<T>(
  { candidates, to, keyOf }: SegmentSearch<T>,
  known: readonly number[],
  answers: readonly (T | undefined)[],
): Segment<T>[] {
  const starts: { from: number; answer: T; isExact: boolean }[] = [];
  let last = -1;
  for (const index of known) {
    const answer = answers[index] as T;
    const before = starts.at(-1);
    if (before === undefined || keyOf(before.answer) !== keyOf(answer))
      starts.push({ from: candidates[index] as number, answer, isExact: index === last + 1 });
    last = index;
  }
  return starts.map((start, index) => ({ ...start, to: (starts[index + 1]?.from ?? to + 1) - 1 }));
}
