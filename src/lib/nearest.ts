/** The name that was probably meant, for messages about an unknown name. Pure. */

/** Names come from outside, so only this many characters are compared. */
const COMPARED_LENGTH = 100;
/** More names than these are no hint. */
const NAMES_MEANT_MAX = 3;

/** The candidate with the smallest Levenshtein distance, the first of several; `candidates` must not be empty. */
function nearest(name: string, candidates: readonly string[]): { name: string; distance: number } {
  return candidates
    .map((candidate) => ({ name: candidate, distance: editDistance(name, candidate) }))
    .reduce((best, next) => (next.distance < best.distance ? next : best));
}

/**
 * The candidates that were probably meant by an unknown name, at most three. They have all its words
 * (`default_policy` for `policy`), or else it is the nearest one, if the name differs from it in at most a third of
 * its characters and in at most half of those that the two do not share at the start and at the end as whole words:
 * `backend_port` for `backend_prot`, but not for `backend_url`.
 */
export function namesMeant(name: string, candidates: readonly string[]): readonly string[] {
  const words = wordsOf(name);
  const having = candidates.filter((candidate) => {
    const its = wordsOf(candidate);
    return words.every((word) => its.includes(word));
  });
  const same = having.filter((candidate) => wordsOf(candidate).length === words.length);
  if (same.length === 1) return same;
  if (having.length > 0) return having.length <= NAMES_MEANT_MAX ? having : [];
  if (candidates.length === 0) return [];
  const found = nearest(name, candidates);
  const isNear = found.distance <= found.name.length / 3 && isSameWord(words, wordsOf(found.name));
  return isNear ? [found.name] : [];
}

/** Whether the words that differ are spellings of each other. */
function isSameWord(words: readonly string[], others: readonly string[]): boolean {
  let start = 0;
  while (start < Math.min(words.length, others.length) && words[start] === others[start]) start++;
  let end = 0;
  const rest = Math.min(words.length, others.length) - start;
  while (end < rest && words.at(-1 - end) === others.at(-1 - end)) end++;
  const [given, meant] = [words, others].map((all) => all.slice(start, all.length - end).join('_'));
  return editDistance(given ?? '', meant ?? '') <= Math.max((meant ?? '').length / 2, 1);
}

function wordsOf(name: string): string[] {
  return name.toLowerCase().split(/[^a-z0-9]+/);
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
