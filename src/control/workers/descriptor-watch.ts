/**
 * Warns when the process has nearly used up its file descriptors. Nothing else reports it: without a descriptor, the
 * event loop closes new connections without telling the program.
 */
import { countDescriptors, NEARLY_USED_UP, type Descriptors } from '../../lib/listeners.ts';
import type { Logger } from '../../observe/log.ts';

const LOOK_MS = 1_000;
const WARN_AGAIN_LOOKS = 10;

export class DescriptorWatch {
  readonly #log: Logger;
  readonly #count: () => Descriptors | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Checks until the next warning; 0: warns at once. */
  #quiet = 0;
  #isShort = false;

  /** @param count for tests */
  constructor(log: Logger, count: () => Descriptors | undefined = countDescriptors) {
    this.#log = log;
    this.#count = count;
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  look(): void {
    const count = this.#count();
    if (count === undefined) return;
    const { open, limit } = count;
    if (open < NEARLY_USED_UP * limit) {
      if (this.#isShort) this.#log.info({ open, limit }, 'there are enough file descriptors again');
      this.#isShort = false;
      this.#quiet = 0;
      return;
    }
    this.#isShort = true;
    if (this.#quiet === 0) {
      this.#log.error(
        { open, limit },
        'the file descriptors are nearly used up: idle connections make room for new ones, and what finds no descriptor fails; raise the limit (ulimit -n)',
      );
      this.#quiet = WARN_AGAIN_LOOKS;
    }
    this.#quiet -= 1;
  }
}
