/**
 * Lets the threads that serve requests go first when all processors are in use: then the export waits, not the
 * requests. Only on Linux, where threads have priorities of their own (setpriority(2), "C library/kernel differences").
 */
import { stat } from 'node:fs/promises';
import { getPriority, platform, setPriority } from 'node:os';

/** A fourth of a processor that all others want as well: more than an export of all traces of a worker takes. */
const NICE = 5;
const NICE_MAX = 19;
const THIS_THREAD = 0;

/** Lowers the priority of the calling thread alone. */
export async function lowerPriority(): Promise<void> {
  if (platform() !== 'linux') return;
  try {
    // Threads inherit it: those for files and names, which all of the process uses, must exist before.
    await stat('/');
    setPriority(THIS_THREAD, Math.min(NICE_MAX, getPriority(THIS_THREAD) + NICE));
  } catch {
    // Not allowed: the priority stays.
  }
}
