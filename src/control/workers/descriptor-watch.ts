/**
 * Warns when the process has nearly used up its file descriptors. Nothing else reports it: without a descriptor, the
 * event loop closes new connections without telling the program. Counts on Linux only (`/proc/self`, proc(5)).
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { systemCode } from '../../lib/error-message.ts';
import type { Logger } from '../../observe/log.ts';

export interface Descriptors {
  readonly open: number;
  readonly limit: number;
}

const LOOK_MS = 1_000;
const NEARLY = 0.95;
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
    if (open < NEARLY * limit) {
      if (this.#isShort) this.#log.info({ open, limit }, 'there are enough file descriptors again');
      this.#isShort = false;
      this.#quiet = 0;
      return;
    }
    this.#isShort = true;
    if (this.#quiet === 0) {
      this.#log.error(
        { open, limit },
        'the file descriptors are nearly used up: connections without one are closed at once; raise the limit (ulimit -n)',
      );
      this.#quiet = WARN_AGAIN_LOOKS;
    }
    this.#quiet -= 1;
  }
}

/** undefined if unknown. */
export function countDescriptors(): Descriptors | undefined {
  try {
    const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]);
    // Since Linux 6.2 the size of the folder is the number of its entries, so reading it is cheap.
    const open = statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length;
    return Number.isFinite(limit) ? { open, limit } : undefined;
  } catch (error) {
    // The check uses a descriptor itself.
    return isExhausted(error) ? { open: 1, limit: 1 } : undefined;
  }
}

function isExhausted(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(systemCode(error));
}
