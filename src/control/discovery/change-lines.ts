/**
 * The log lines about one source that changes: a name that gives other addresses in each answer, or fails every other
 * time, must not flood the log. Beyond a budget the latest change waits for its line, which has the number of changes
 * since the line before. Owns the budget of its source.
 */

/** Lines at once, as for a roll-out that replaces one target after another. */
export const LINES_MAX = 10;
/** One more line after each such time. */
export const LINE_MS = 60_000;

export class ChangeLines<Line> {
  #budget = LINES_MAX;
  #atMs: number;
  #count = 0;
  #latest: Line | undefined;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  add(line: Line): void {
    this.#latest = line;
    this.#count += 1;
  }

  /** The latest change and the number of changes, if they are not written yet and there is budget for a line. */
  take(nowMs: number): { readonly line: Line; readonly changes: number } | undefined {
    const line = this.#latest;
    if (line === undefined) return undefined;
    this.#budget = Math.min(LINES_MAX, this.#budget + (nowMs - this.#atMs) / LINE_MS);
    this.#atMs = nowMs;
    if (this.#budget < 1) return undefined;
    const changes = this.#count;
    this.#budget -= 1;
    this.#latest = undefined;
    this.#count = 0;
    return { line, changes };
  }
}
