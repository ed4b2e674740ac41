/**
 * Gives priority to the threads that serve requests when all processors are busy: the export then waits, not the
 * requests. Only on Linux, where threads have priorities of their own (setpriority(2), "C library/kernel
 * differences").
 */
import { stat } from 'node:fs/promises';
import { getPriority, platform, setPriority } from 'node:os';

/**
 * About a fourth of a processor that all other threads want as well: more than exporting all traces of a worker
 * takes.
 */
const NICE = 5;
const NICE_MAX = 19;
const THIS_THREAD = 0;

/** Lowers the priority of the calling thread alone. */
export async function lowerPriority(): Promise<void> {
  if (platform() !== 'linux') return;
  try {
    // Threads inherit the priority. The threads for files and names serve the whole process, so they must exist
    // before.
    await stat('/');
    setPriority(THIS_THREAD, Math.min(NICE_MAX, getPriority(THIS_THREAD) + NICE));
  } catch {
    // Without permission, the priority stays the same.
  }
}
