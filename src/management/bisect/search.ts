/**
 * Finds a config version since which something is different. It asks about twice the logarithm of the number of
 * versions. Pure except for `isBad`.
 *
 * Guaranteed for any history: the found version is `bad`, and the version before it is not. If the answer changed back
 * and forth in the history, there are several such versions, and the result depends on the versions asked about.
 * Without a given `good`, it is close to `bad`.
 */

export interface SearchBounds {
  /** The oldest version that can be asked about. */
  readonly oldest: number;
  /** A version that is known not to be bad, if any; at least `oldest`. */
  readonly good: number | undefined;
  /** A version that is bad; above `good`. */
  readonly bad: number;
}

/**
 * @param isBad asked of versions from `oldest` to `bad`
 * @returns the version; undefined when no version before `bad` was found that is not bad
 */
export async function firstBad(
  { oldest, good, bad }: SearchBounds,
  isBad: (configVersion: number) => Promise<boolean>,
): Promise<number | undefined> {
  let low = good;
  let high = bad;
  // In growing steps into the past, so that a recent change is found in a few steps.
  for (let step = 1; low === undefined; step *= 2) {
    const next = Math.max(oldest, bad - step);
    if (next >= high) return undefined;
    if (await isBad(next)) high = next;
    else low = next;
  }
  while (high - low > 1) {
    const middle: number = low + Math.floor((high - low) / 2);
    if (await isBad(middle)) high = middle;
    else low = middle;
  }
  return high;
}
