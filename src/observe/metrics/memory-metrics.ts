/** Metrics of the memory of a node that is bounded: API keys, counters of rate limits, time series. */
import type { Exposition } from './exposition.ts';

/** Facts that exist once per node, for all of its threads. */
export interface KeyTableSize {
  /** Number of API keys. */
  readonly size: number;
  readonly bytes: number;
}

/** The counters of rate limits, once for all workers. */
export interface CounterMemoryUse {
  readonly counters: number;
  readonly bytes: number;
  readonly bytesPeak: number;
  readonly bytesMax: number;
  /** By the level that set the limit. */
  readonly evictions: ReadonlyMap<string, number>;
}

/** The time series of the gateway itself. */
export interface StatsMemoryUse {
  readonly bytes: number;
  readonly bytesMax: number;
}

export function addKeys(page: Exposition, { size, bytes }: KeyTableSize): void {
  page.gauge('headgate_keys', 'API keys that are known', size);
  const help = 'Shared memory used by the API keys, counted once for all workers';
  page.gauge('headgate_key_table_bytes', help, bytes);
}

export function addStats(page: Exposition, { bytes, bytesMax }: StatsMemoryUse): void {
  page.gauge('headgate_stats_memory_bytes', 'Memory used by the time series of the gateway itself', bytes);
  const help = 'Maximum memory for the time series of the gateway itself';
  page.gauge('headgate_stats_memory_bytes_max', help, bytesMax);
}

export function addLimitCounters(page: Exposition, use: CounterMemoryUse): void {
  page.gauge('headgate_limit_counters', 'Counters of rate limits', use.counters);
  page.gauge('headgate_limit_memory_bytes', 'Shared memory used by the counters of rate limits', use.bytes);
  const peakHelp = 'Highest shared memory use of the counters of rate limits since the start';
  page.gauge('headgate_limit_memory_bytes_peak', peakHelp, use.bytesPeak);
  const maxHelp = 'Maximum shared memory for the counters of rate limits';
  page.gauge('headgate_limit_memory_bytes_max', maxHelp, use.bytesMax);
  const evictions = [...use.evictions].map(([level, value]) => ({ labels: { level }, value }));
  const help = 'Counters in use that were removed to make room for others, by the level that set their limit';
  page.family('counter', 'headgate_limit_evictions_total', help, evictions);
}
