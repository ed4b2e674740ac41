/**
 * Limits the look-ups that run at once, and the look-ups that begin in one tick. Sources that failed or were slow the
 * last time wait behind the others and get at most half of the places, so that unresponsive sources do not delay the
 * rest. A few places are reserved for them, so that they are also looked up.
 */

/** Limit of look-ups under way. */
export const LOOKS_MAX = 64;
/** Limit of look-ups under way for sources that were slow the last time. */
export const SLOW_MAX = LOOKS_MAX / 2;
/** The number of slow look-ups that come before the others, both under way and begun in one tick. */
const SLOW_FIRST = LOOKS_MAX / 8;
/** Limit of look-ups that begin in one tick. */
export const STARTS_MAX = 100;

export interface InLane {
  phase: 'resting' | 'waiting' | 'running';
  /** Whether the last look-up failed or was slow. */
  isSlow: boolean;
}

interface Line<T> {
  /** Due entries in order. A removed entry may still be listed, and then no longer waits. */
  readonly waiting: T[];
  readonly running: Set<T>;
  /** The number begun in this tick. */
  started: number;
}

const newLine = <T>(): Line<T> => ({ waiting: [], running: new Set(), started: 0 });

export class Lane<T extends InLane> {
  readonly #run: (one: T) => Promise<void>;
  readonly #fast = newLine<T>();
  readonly #slow = newLine<T>();

  /** @param run must not reject */
  constructor(run: (one: T) => Promise<void>) {
    this.#run = run;
  }

  /** @param one an entry that is neither waiting nor running */
  add(one: T): void {
    one.phase = 'waiting';
    (one.isSlow ? this.#slow : this.#fast).waiting.push(one);
  }

  /** Frees the place at once, even during a look-up, whose end is not awaited. */
  remove(one: T): void {
    one.phase = 'resting';
    this.#fast.running.delete(one);
    this.#slow.running.delete(one);
  }

  clear(): void {
    for (const { waiting } of [this.#fast, this.#slow]) waiting.length = 0;
  }

  tick(): void {
    this.#fast.started = 0;
    this.#slow.started = 0;
    this.#startNext();
  }

  #startNext(): void {
    const [fast, slow] = [this.#fast, this.#slow];
    while (fast.started + slow.started < STARTS_MAX && fast.running.size + slow.running.size < LOOKS_MAX) {
      const hasSlow = slow.waiting.length > 0 && slow.running.size < SLOW_MAX;
      const isSlowFirst = slow.running.size < SLOW_FIRST && slow.started < SLOW_FIRST;
      if (hasSlow && (isSlowFirst || fast.waiting.length === 0)) this.#start(slow);
      else if (fast.waiting.length > 0) this.#start(fast);
      else return;
    }
  }

  #start(line: Line<T>): void {
    const one = line.waiting.shift();
    if (one?.phase !== 'waiting') return;
    line.running.add(one);
    line.started += 1;
    one.phase = 'running';
    void this.#run(one).then(() => {
      // false: it was removed meanwhile.
      if (!line.running.delete(one)) return;
      one.phase = 'resting';
      this.#startNext();
    });
  }
}
