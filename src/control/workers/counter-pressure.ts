/**
 * Logs which limit has more callers than the counter memory has room for, so that the cause of the pressure is known.
 * Owns the number of evictions reported so far; at most one line every ten seconds.
 */
import type { Clock } from '../../lib/clock.ts';
import { counterUse, limitUse } from '../../limits/local/counter-use.ts';
import type { LimitMemory } from '../../limits/local/memory.ts';
import type { Logger } from '../../observe/log.ts';

const LOG_MS = 10_000;

export class CounterPressure {
  readonly #memory: LimitMemory;
  readonly #clock: Clock;
  readonly #log: Logger;
  #told = 0;
  #toldMs = -Infinity;

  constructor(memory: LimitMemory, clock: Clock, log: Logger) {
    this.#memory = memory;
    this.#clock = clock;
    this.#log = log;
  }

  /** Call it periodically. */
  tick(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#toldMs < LOG_MS) return;
    const { evictions, bytesMax } = counterUse(this.#memory);
    let total = 0;
    for (const count of evictions.values()) total += count;
    if (total === this.#told) return;
    const limit = limitUse(this.#memory)[0]?.name;
    this.#log.warn(
      { limit, evictions: total - this.#told, max_counter_bytes: bytesMax },
      'the memory of limit counters is full; callers of the limit with the most counters are counted approximately (GATEWAY_LIMITS__MAX_COUNTER_BYTES)',
    );
    this.#told = total;
    this.#toldMs = nowMs;
  }
}
