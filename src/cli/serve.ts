/**
 * `headgate start`: runs the gateway until SIGTERM or SIGINT, then lets it drain and exits 0. A second signal
 * changes nothing: npm passes a signal on that the process group has had already. Only a third and later SIGINT,
 * a person's patience at its end, cuts the drain short.
 */
export interface Running {
  stop(): Promise<void>;
}

/** A person who presses Ctrl-C this often means it; two come from npm and the group alone. */
const INTERRUPTS_TO_FORCE = 3;
/** Signals that arrive this close together are one request to stop, sent twice. */
const SAME_REQUEST_MS = 1_000;

/** Resolves with the exit code when the gateway has stopped. */
export async function runUntilSignal(
  start: () => Promise<Running>,
  onSignal: (signal: NodeJS.Signals) => void,
  monotonicMs: () => number,
): Promise<number> {
  const gateway = await start();
  return new Promise((resolve, reject) => {
    let stopping = false;
    let interrupts = 0;
    let lastMs = -Infinity;
    const stop = (signal: NodeJS.Signals): void => {
      const nowMs = monotonicMs();
      if (signal === 'SIGINT' && nowMs - lastMs > SAME_REQUEST_MS) interrupts += 1;
      lastMs = nowMs;
      if (interrupts >= INTERRUPTS_TO_FORCE) resolve(130);
      if (stopping) return;
      stopping = true;
      onSignal(signal);
      gateway.stop().then(() => resolve(0), reject);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
