/**
 * How full the memory of a Valkey or Redis server is, from the section `memory` of its command INFO. Pure.
 *
 * Beyond `maxmemory` a server does what its `maxmemory-policy` says: with `noeviction` it refuses every call that
 * writes, so that no limit is counted there any more.
 */

export interface StoreMemory {
  readonly usedBytes: number;
  /** `maxmemory`; undefined: none is set. */
  readonly maxBytes: number | undefined;
  /** `maxmemory-policy`. */
  readonly policy: string;
}

const NEARLY = 0.9;
const MIB = 1_048_576;
/** Policies that remove counters regardless of whether they are in use: their callers start from zero. */
const CARELESS = new Set(['allkeys-random', 'volatile-random', 'volatile-ttl']);

/** undefined if the text is not an answer to INFO. */
export function readStoreMemory(info: string): StoreMemory | undefined {
  const fields = new Map(info.split('\r\n').map((line) => pair(line)));
  const bytes = (name: string): number => Number(fields.get(name) ?? NaN);
  const policy = fields.get('maxmemory_policy');
  const used = bytes('used_memory');
  const max = bytes('maxmemory');
  if (policy === undefined || !Number.isSafeInteger(used) || !Number.isSafeInteger(max)) return undefined;
  // Buffers for replicas do not count against `maxmemory`; older servers do not name them.
  const others = bytes('mem_not_counted_for_evict');
  const usedBytes = Math.max(0, used - (Number.isSafeInteger(others) ? others : 0));
  return { usedBytes, maxBytes: max === 0 ? undefined : max, policy };
}

function pair(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1)];
}

/** Of several servers the one that is closest to its bound: a full one loses its counters, however empty the others. */
export function fullestOf(memories: readonly StoreMemory[]): StoreMemory | undefined {
  return [...memories].sort((a, b) => shareOf(b) - shareOf(a))[0];
}

/** Used share of the bound; 0 without a bound. */
export function shareOf({ usedBytes, maxBytes }: StoreMemory): number {
  return maxBytes === undefined ? 0 : usedBytes / maxBytes;
}

/** Whether the server will soon refuse calls, or does already. */
export function isNearlyFull(memory: StoreMemory): boolean {
  return memory.policy === 'noeviction' && shareOf(memory) >= NEARLY;
}

/** Whether the server may remove the counters of busy callers while those of others remain. */
export function removesCarelessly({ policy, maxBytes }: StoreMemory): boolean {
  return maxBytes !== undefined && CARELESS.has(policy);
}

/** For a server that is nearly full. */
export const MORE_MEMORY =
  'raise maxmemory, or set maxmemory-policy to volatile-lru, which gives up the counters that were not used for longest';

/** Such as `1.2 of 64.0 MiB are used (noeviction)`. */
export function memoryText({ usedBytes, maxBytes, policy }: StoreMemory): string {
  const used = (usedBytes / MIB).toFixed(1);
  if (maxBytes === undefined) return `${used} MiB are used, without a maxmemory`;
  return `${used} of ${(maxBytes / MIB).toFixed(1)} MiB are used (${policy})`;
}
