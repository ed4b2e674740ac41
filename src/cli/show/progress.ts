/**
 * A line about work that takes longer than a second, for people: on standard error, rewritten in place, and gone when
 * the work is done. Where standard error is no terminal nothing is written.
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
  // Work that ends by an error must not wait for the display.
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

/** Runs `work` with a line about it. */
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
