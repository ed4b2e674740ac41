/**
 * A line of progress for work that takes longer than a second: on standard error, rewritten in place, and removed
 * when the work is done. Writes nothing when standard error is not a terminal.
 */
import type { CliIo } from '../io.ts';

export interface Progress {
  /** @param text of one line, such as `Writing: 12 MB` */
  tell(text: string): void;
  end(): void;
}

const DELAY_MS = 1_000;
const INTERVAL_MS = 200;
const CLEAR_LINE = '\r\u001B[K';
const SIGNS = ['|', '/', '-', '\\'] as const;

export function startProgress(io: CliIo, first: string): Progress {
  if (!io.errorIsTerminal) return { tell: () => undefined, end: () => undefined };
  let text = first;
  let turns = 0;
  let shown = false;
  const width = (io.columns ?? 80) - 3;
  const draw = (): void => {
    shown = true;
    turns += 1;
    io.err(`${CLEAR_LINE}${SIGNS[turns % SIGNS.length]} ${text.slice(0, Math.max(width, 10))}`);
  };
  let timer: NodeJS.Timeout = setTimeout(() => {
    draw();
    timer = setInterval(draw, INTERVAL_MS);
    timer.unref();
  }, DELAY_MS);
  // The display must not keep the process alive when the work fails.
  timer.unref();
  return {
    tell(next) {
      text = next;
    },
    end() {
      clearTimeout(timer);
      clearInterval(timer);
      if (shown) io.err(CLEAR_LINE);
    },
  };
}

/** Runs `work` with a line of progress. */
export async function withProgress<T>(
  io: CliIo,
  text: string,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = startProgress(io, text);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}
