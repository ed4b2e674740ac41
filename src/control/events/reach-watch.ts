/**
 * Whether a dependency of the gateway answers, with a delay in both directions: it counts as unavailable after some
 * seconds of continuous failure, and as available after it has answered for some seconds. Owns the state and its
 * times.
 */
export interface ReachTimes {
  readonly awayMs: number;
  readonly backMs: number;
}

export interface ReachNews {
  readonly onAway: (reason: string) => void;
  /** @param awaySeconds since its first failure */
  readonly onBack: (awaySeconds: number) => void;
}

export class ReachWatch {
  readonly #times: ReachTimes;
  readonly #news: ReachNews;
  #isAway = false;
  /** Since when the observed state differs from the reported one. */
  #differsMs: number | undefined;
  #awaySinceMs = 0;

  constructor(times: ReachTimes, news: ReachNews) {
    this.#times = times;
    this.#news = news;
  }

  /** @param problem why it does not answer; undefined when it does @param nowMs monotonic */
  look(problem: string | undefined, nowMs: number): void {
    if ((problem !== undefined) === this.#isAway) {
      this.#differsMs = undefined;
      return;
    }
    this.#differsMs ??= nowMs;
    const forMs = nowMs - this.#differsMs;
    if (problem !== undefined && forMs >= this.#times.awayMs) {
      this.#isAway = true;
      this.#awaySinceMs = this.#differsMs;
      this.#differsMs = undefined;
      this.#news.onAway(problem);
    } else if (problem === undefined && forMs >= this.#times.backMs) {
      this.#isAway = false;
      const awayMs = this.#differsMs - this.#awaySinceMs;
      this.#differsMs = undefined;
      this.#news.onBack(Math.round(awayMs / 1000));
    }
  }
}
