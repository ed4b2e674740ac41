/**
 * Resident memory of a process as Linux accounts for it, proc_pid_status(5): now (VmRSS) and at its highest
 * (VmHWM). The highest is set back when the watch begins, so that it tells of the work that is watched alone.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const SAMPLE_INTERVAL_MS = 50;
/** proc_pid_clear_refs(5): sets the peak back to the present size. */
const RESET_PEAK = '5';

export interface MemoryUse {
  readonly beforeBytes: number;
  /** Samples of VmRSS while the work was under way. */
  readonly duringBytes: readonly number[];
  readonly afterBytes: number;
  readonly peakBytes: number;
}

/** Does the work and tells what the process needed meanwhile. */
export async function watchMemory(pid: number, work: () => Promise<void>): Promise<MemoryUse> {
  resetPeak(pid);
  const beforeBytes = statusBytes(pid, 'VmRSS');
  const duringBytes: number[] = [];
  const timer = setInterval(() => duringBytes.push(statusBytes(pid, 'VmRSS')), SAMPLE_INTERVAL_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return {
    beforeBytes,
    duringBytes,
    afterBytes: statusBytes(pid, 'VmRSS'),
    peakBytes: statusBytes(pid, 'VmHWM'),
  };
}

/** Kernels built without it keep the peak since the start, which only makes the watch stricter. */
function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, RESET_PEAK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** VmRSS, now. */
export const residentBytes = (pid: number): number => statusBytes(pid, 'VmRSS');
/** RssFile: the part of it that is pages of files, such as the program's, which the system drops and reads again. */
export const residentFileBytes = (pid: number): number => statusBytes(pid, 'RssFile');
/** VmHWM, since the start or since a watch began. */
export const peakBytes = (pid: number): number => statusBytes(pid, 'VmHWM');

function statusBytes(pid: number, field: 'VmRSS' | 'VmHWM' | 'RssFile'): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
  return Number(kibibytes) * 1024;
}
