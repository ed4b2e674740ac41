/** Time that passes only when there is nothing left to do in it: a queue of events by their moment. */
import type { After } from '../../src/limits/timers.ts';

interface Event {
  readonly atMs: number;
  /** Keeps events of one moment in the order in which they were made. */
  readonly order: number;
  run: (() => void) | undefined;
}

export class VirtualTime {
  readonly #heap: Event[] = [];
  #nowMs = 1_000_000;
  #order = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  readonly after: After = (delayMs, then) => {
    const event: Event = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, run: then };
    this.#push(event);
    return () => void (event.run = undefined);
  };

  /** Runs all that is due until `untilMs`; promises settle in between, and what `settle` waits for. */
  async runUntil(untilMs: number, settle: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#pop();
      this.#nowMs = next.atMs;
      next.run?.();
      await settle();
    }
    this.#nowMs = untilMs;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
