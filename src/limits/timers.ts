/** Timers as an argument, so that a simulation can control time. */

/** Calls `then` once after `delayMs`; the returned function cancels it. */
export type After = (delayMs: number, then: () => void) => () => void;

export const after: After = (delayMs, then) => {
  const timer = setTimeout(then, delayMs);
  return () => clearTimeout(timer);
};
