/**
 * What Linux knows of a process and everything below it, proc(5): CPU time in user and system mode over all its
 * threads, the same per thread name, and resident memory. Shared pages count once per process in RSS; PSS shares
 * them out and is what a sum over processes should use.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;

export interface CpuTime {
  readonly userMs: number;
  readonly systemMs: number;
  /** Total per thread name, of threads that still run. */
  readonly threadsMs: Readonly<Record<string, number>>;
}

/** The process and all that it has started, directly or not. */
export function descendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = Number(statFields(`/proc/${pid}/stat`)?.[1]);
    if (Number.isNaN(parent)) continue;
    children.set(parent, [...(children.get(parent) ?? []), Number(pid)]);
  }
  const found = [root];
  for (let index = 0; index < found.length; index++) found.push(...(children.get(found[index] ?? 0) ?? []));
  return found;
}

/** CPU time so far of the process and all below it; what has ended is not in it. */
export function cpuTime(root: number): CpuTime {
  let userMs = 0;
  let systemMs = 0;
  const threadsMs: Record<string, number> = {};
  for (const pid of descendants(root)) {
    const fields = statFields(`/proc/${pid}/stat`);
    if (fields === undefined) continue;
    userMs += ticksMs(fields[11]);
    systemMs += ticksMs(fields[12]);
    for (const thread of entries(`/proc/${pid}/task`)) {
      const path = `/proc/${pid}/task/${thread}/stat`;
      const own = statFields(path);
      if (own === undefined) continue;
      const name = threadName(path);
      threadsMs[name] = (threadsMs[name] ?? 0) + ticksMs(own[11]) + ticksMs(own[12]);
    }
  }
  return { userMs, systemMs, threadsMs };
}

export function cpuDifference(before: CpuTime, after: CpuTime): CpuTime {
  const threadsMs: Record<string, number> = {};
  for (const [name, ms] of Object.entries(after.threadsMs)) {
    const spentMs = ms - (before.threadsMs[name] ?? 0);
    if (spentMs > 0) threadsMs[name] = spentMs;
  }
  return { userMs: after.userMs - before.userMs, systemMs: after.systemMs - before.systemMs, threadsMs };
}

/** CPU time that the hypervisor has given to others while this machine wanted it, over all cores; proc_stat(5). */
export function stolenMs(): number {
  const [all = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  return ticksMs(all.split(/\s+/)[8]);
}

/** Resident memory in bytes, shared pages shared out (PSS), of the process and all below it. */
export function residentBytes(root: number): number {
  let bytes = 0;
  for (const pid of descendants(root)) bytes += memoryOf(pid);
  return bytes;
}

/**
 * Resident memory of one process (RSS) in bytes: what it has written, and pages of files such as the program, which the
 * kernel shares with other processes of the same file and can take back.
 */
export function memoryParts(pid: number): { readonly ownBytes: number; readonly fileBytes: number } {
  return { ownBytes: statusBytes(pid, 'RssAnon'), fileBytes: statusBytes(pid, 'RssFile') };
}

/** proc_pid_clear_refs(5): sets the peak back to the present size. */
const RESET_PEAK = '5';

/** Begins to watch the peak of resident memory (VmHWM); what it gives tells by how much it has grown since. */
export function watchPeak(root: number): () => number {
  const pids = descendants(root);
  for (const pid of pids) writeFileSync(`/proc/${pid}/clear_refs`, RESET_PEAK);
  const sum = (field: string): number => pids.reduce((total, pid) => total + statusBytes(pid, field), 0);
  const startBytes = sum('VmRSS');
  return () => sum('VmHWM') - startBytes;
}

function statusBytes(pid: number, field: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function memoryOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** The fields of a stat file after the command, which stands in brackets and may hold anything: state, ppid, … */
function statFields(path: string): readonly string[] | undefined {
  try {
    const text = readFileSync(path, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function threadName(statPath: string): string {
  try {
    return readFileSync(statPath.replace(/stat$/, 'comm'), 'utf8').trim();
  } catch {
    return 'gone';
  }
}

function entries(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function ticksMs(field: string | undefined): number {
  return (Number(field ?? 0) * 1000) / TICKS_PER_SECOND;
}
