/** Timers as an argument, so that a simulation can bring its own time. */

/** Calls `then` once after `delayMs`; the function returned prevents it. */
export type After = (delayMs: number, then: () => void) => () => void;

export const after: After = (delayMs, then) => {
  const timer = setTimeout(then, delayMs);
  return () => clearTimeout(timer);
};
