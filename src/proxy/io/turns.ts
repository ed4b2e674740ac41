/**
 * Work that a client has sent in excess, such as hundreds of pipelined requests: it waits until the worker's other
 * sockets have been served, and then gets a few milliseconds in each turn of the event loop. Owns the waiting steps.
 */
import { systemClock } from '../../lib/clock.ts';

const TURN_MS = 5;

let waiting: (() => void)[] = [];

/** Calls the step in a later turn of the event loop, after the steps that already wait. @param step must not throw */
export function inLaterTurn(step: () => void): void {
  if (waiting.push(step) === 1) setImmediate(run);
}

function run(): void {
  const endMs = systemClock.monotonicMs() + TURN_MS;
  let done = 0;
  // At least one; a step that is called may add itself again.
  for (const step of waiting) {
    step();
    done += 1;
    if (systemClock.monotonicMs() >= endMs) break;
  }
  waiting = waiting.slice(done);
  if (waiting.length > 0) setImmediate(run);
}
