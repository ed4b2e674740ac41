/**
 * Problems with scarce resources: the disk, file descriptors, memory of workers and of limit counters. Contains
 * only thresholds.
 */
import { NEARLY_USED_UP } from '../../lib/listeners.ts';
import {
  isNearlyFull,
  memoryText,
  MORE_MEMORY,
  type StoreMemory,
} from '../../limits/shared/redis/store-memory.ts';
import { found, percent, type FoundProblem } from './found-problem.ts';

const DISK_WARNING = 0.05;
const DISK_CRITICAL = 0.01;
const NEARLY = 0.9;
const MIB = 1_048_576;

/** @param disk disk of the database folder; undefined if unknown */
export function diskProblems(
  disk: { readonly freeBytes: number; readonly totalBytes: number; readonly folder: string } | undefined,
): FoundProblem[] {
  if (disk === undefined || disk.totalBytes === 0) return [];
  const share = disk.freeBytes / disk.totalBytes;
  if (share >= DISK_WARNING) return [];
  return [
    found(
      share < DISK_CRITICAL ? 'critical' : 'warning',
      'disk_full',
      `${percent(share)} of the disk with the database is free: ${Math.floor(disk.freeBytes / MIB)} MiB. On a full disk the configuration cannot be changed`,
      { kind: 'database' },
    ),
  ];
}

export function descriptorProblems(
  count: { readonly open: number; readonly limit: number } | undefined,
): FoundProblem[] {
  if (count === undefined || count.open < NEARLY_USED_UP * count.limit) return [];
  return [
    found(
      'critical',
      'descriptors_short',
      `${count.open} of ${count.limit} file descriptors are in use. Idle connections make room for new ones, and what finds no descriptor fails: raise the limit (ulimit -n)`,
      { kind: 'workers' },
    ),
  ];
}

export function counterProblems(use: { readonly bytes: number; readonly bytesMax: number }): FoundProblem[] {
  if (use.bytes < NEARLY * use.bytesMax) return [];
  return [
    found(
      'warning',
      'limit_counters_full',
      `The counters of rate limits take ${percent(use.bytes / use.bytesMax)} of the memory that they may take. When it is used up, callers of the limit with the most counters are counted approximately`,
      { kind: 'limits', setting: 'GATEWAY_LIMITS__MAX_COUNTER_BYTES' },
    ),
  ];
}

/** @param memory undefined if unknown, or when there is no store */
export function storeMemoryProblems(memory: StoreMemory | undefined): FoundProblem[] {
  if (memory === undefined || !isNearlyFull(memory)) return [];
  const detail = `${memoryText(memory)}. When it is full it refuses all calls, and limits are counted without it: ${MORE_MEMORY}`;
  return [found('warning', 'limit_store_full', detail, { kind: 'limits' })];
}

/** @param use undefined when statistics are switched off */
export function statsProblems(
  use: { readonly bytes: number; readonly bytesMax: number } | undefined,
): FoundProblem[] {
  if (use === undefined || use.bytes < NEARLY * use.bytesMax) return [];
  return [
    found(
      'info',
      'stats_full',
      `The time series of the traffic take ${percent(use.bytes / use.bytesMax)} of the memory that they may take. The least used routes, versions and keys lose theirs; totals stay right`,
      { kind: 'settings', setting: 'GATEWAY_STATS__MAX_BYTES' },
    ),
  ];
}

export function memoryProblems(
  workers: readonly { readonly worker: number; readonly heapUsedBytes: number }[],
  heapBytesMax: number,
): FoundProblem[] {
  return workers
    .filter(({ heapUsedBytes }) => heapUsedBytes > NEARLY * heapBytesMax)
    .map(({ worker, heapUsedBytes }) =>
      found(
        'critical',
        'memory_short',
        `Worker ${worker} uses ${percent(heapUsedBytes / heapBytesMax)} of the JavaScript memory that it may have. A worker that runs out of memory is replaced, and its connections are lost`,
        { kind: 'workers' },
      ),
    );
}
