/** The name that was probably meant, for messages about an unknown name. Pure. */

/** Names come from outside, so only this many characters are compared. */
const COMPARED_LENGTH = 100;

/** The candidate with the smallest Levenshtein distance, the first of several; `candidates` must not be empty. */
export function nearest(name: string, candidates: readonly string[]): { name: string; distance: number } {
  return candidates
    .map((candidate) => ({ name: candidate, distance: editDistance(name, candidate) }))
    .reduce((best, next) => (next.distance < best.distance ? next : best));
}

function editDistance(a: string, b: string): number {
  const [left, right] = [a.slice(0, COMPARED_LENGTH), b.slice(0, COMPARED_LENGTH)];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[right.length]!;
}
