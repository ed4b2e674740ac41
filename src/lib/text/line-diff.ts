/**
 * The difference of two texts by lines, as a unified diff: E. W. Myers, "An O(ND) Difference Algorithm and Its
 * Variations" (1986), after the lines that both texts begin and end with. Pure.
 */

/** With more differing lines than this, the whole middle is shown as replaced: the search grows with their square. */
const EDITS_MAX = 300;
const CONTEXT_LINES = 3;

type Edit = readonly [sign: ' ' | '-' | '+', line: string];

/** @param names of the two texts, for the header @returns '' when they are equal */
export function unifiedDiff(before: string, after: string, names: readonly [string, string]): string {
  if (before === after) return '';
  const edits = lineEdits(linesOf(before), linesOf(after));
  return `--- ${names[0]}\n+++ ${names[1]}\n${hunks(edits)}`;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** All lines of both texts, each once and in order. */
export function lineEdits(a: readonly string[], b: readonly string[]): Edit[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const same = (line: string): Edit => [' ', line];
  return [
    ...a.slice(0, start).map(same),
    ...middleEdits(a.slice(start, endA), b.slice(start, endB)),
    ...a.slice(endA).map(same),
  ];
}

function middleEdits(a: readonly string[], b: readonly string[]): Edit[] {
  const trace = searchPath(a, b);
  if (trace === undefined) {
    return [...a.map((line): Edit => ['-', line]), ...b.map((line): Edit => ['+', line])];
  }
  const edits: Edit[] = [];
  let x = a.length;
  let y = b.length;
  for (let depth = trace.length - 1; depth >= 0; depth -= 1) {
    const furthest = trace[depth] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = goesDown(furthest, diagonal, depth);
    const fromDiagonal = down ? diagonal + 1 : diagonal - 1;
    const fromX = depth === 0 ? 0 : (furthest.get(fromDiagonal) ?? 0);
    const fromY = depth === 0 ? 0 : fromX - fromDiagonal;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      edits.push([' ', a[x] ?? '']);
    }
    if (depth === 0) break;
    if (down) edits.push(['+', b[fromY] ?? '']);
    else edits.push(['-', a[fromX] ?? '']);
    x = fromX;
    y = fromY;
  }
  return edits.reverse();
}

type Furthest = Map<number, number>;

/**
 * The search up to each number of edits: how far each diagonal was reached before it; undefined when more than
 * EDITS_MAX are needed.
 */
function searchPath(a: readonly string[], b: readonly string[]): Furthest[] | undefined {
  const furthest: Furthest = new Map([[1, 0]]);
  const trace: Furthest[] = [];
  for (let depth = 0; depth <= Math.min(EDITS_MAX, a.length + b.length); depth += 1) {
    trace.push(new Map([...furthest].filter(([diagonal]) => Math.abs(diagonal) <= depth + 1)));
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      const down = goesDown(furthest, diagonal, depth);
      let x = down ? (furthest.get(diagonal + 1) ?? 0) : (furthest.get(diagonal - 1) ?? 0) + 1;
      let y = x - diagonal;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      furthest.set(diagonal, x);
      if (x >= a.length && y >= b.length) return trace;
    }
  }
  return undefined;
}

function goesDown(furthest: Furthest, diagonal: number, depth: number): boolean {
  if (diagonal === -depth) return true;
  return diagonal !== depth && (furthest.get(diagonal - 1) ?? 0) < (furthest.get(diagonal + 1) ?? 0);
}

function hunks(edits: readonly Edit[]): string {
  const lines: string[] = [];
  let lineA = 1;
  let lineB = 1;
  let index = 0;
  while (index < edits.length) {
    const first = edits.findIndex(([sign], at) => at >= index && sign !== ' ');
    if (first < 0) break;
    const from = Math.max(index, first - CONTEXT_LINES);
    lineA += from - index;
    lineB += from - index;
    const to = hunkEnd(edits, first);
    const hunk = edits.slice(from, to);
    const countA = hunk.filter(([sign]) => sign !== '+').length;
    const countB = hunk.filter(([sign]) => sign !== '-').length;
    lines.push(`@@ -${range(lineA, countA)} +${range(lineB, countB)} @@`);
    for (const [sign, line] of hunk) lines.push(sign + line);
    lineA += countA;
    lineB += countB;
    index = to;
  }
  return `${lines.join('\n')}\n`;
}

/** The end of the hunk that begins with this edit: edits with little unchanged text between them share one hunk. */
function hunkEnd(edits: readonly Edit[], first: number): number {
  let last = first;
  for (let index = first; index < edits.length && index <= last + 2 * CONTEXT_LINES + 1; index += 1) {
    if (edits[index]?.[0] !== ' ') last = index;
  }
  return Math.min(edits.length, last + 1 + CONTEXT_LINES);
}

/** A range as GNU diff writes it: an empty one begins at the line before it. */
function range(start: number, count: number): string {
  return count === 1 ? String(start) : `${count === 0 ? start - 1 : start},${count}`;
}
