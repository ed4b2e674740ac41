/**
 * How the memory of the machine or container is divided among what clients can make the gateway hold: the defaults of
 * settings that bound it. Where memory is plentiful they are the full numbers of each setting; in a small container
 * they are smaller, so that a flood ends in refusals and closed connections, not in the end of the process.
 */
import { totalmem } from 'node:os';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

/** The program at rest, and what each worker needs without its clients: docs/explanation/sizing.md. */
const PROGRAM_BYTES = 128 * MIB;
const WORKER_BYTES = 32 * MIB;
/** A worker has at least this much for its clients, however little memory there is. */
const CLIENTS_BYTES_MIN = 8 * MIB;
/** An idle connection, without TLS and with it. */
const CONNECTION_BYTES = 8 * KIB;
const TLS_CONNECTION_BYTES = 56 * KIB;
/** A request under way whose client or backend does not read, with its connection to the backend. */
const EXCHANGE_BYTES = 40 * KIB;

/** A thread's copy of a counter in the store that gateways share, with what it has not yet reported to the store. */
const LEASE_BYTES = 2 * KIB;

/** For the docs. */
export const LESS_MEMORY = 'less where memory is small (docs/explanation/sizing.md)';

const COUNTER_BYTES_MIN = 16 * MIB;
/** With less memory than this, counters have only the minimum; they take memory as new callers arrive. */
const COUNTERS_FROM_BYTES = 256 * MIB;

export const FULL_SHARES: MemoryShares = {
  connections: 20_000,
  exchanges: 10_000,
  incompleteHeadBytes: 64 * MIB,
  bufferedRequestBytes: 64 * MIB,
  passingBytes: 56 * MIB,
  leases: 65_536,
  youngBytes: 48 * MIB,
  // Room for 1,000,000 callers with a full sliding window each.
  counterBytes: 2 * GIB,
  statsBytes: 64 * MIB,
};

export interface MemoryShares {
  /** This and the next six are for each worker. */
  readonly connections: number;
  readonly exchanges: number;
  readonly incompleteHeadBytes: number;
  readonly bufferedRequestBytes: number;
  /** Bytes of bodies that were read and cannot be written yet. */
  readonly passingBytes: number;
  /** Counters of the store of limits that gateways share. */
  readonly leases: number;
  /**
   * The heap of new objects; without a limit V8 takes more than 100 MiB under many connections. One collection moves at
   * most a third of it, while all of the worker's clients wait.
   */
  readonly youngBytes: number;
  /** This and the next one are for the gateway. */
  readonly counterBytes: number;
  readonly statsBytes: number;
}

/** The settings that decide. */
export interface ShareFacts {
  readonly workers: number;
  readonly hasTls: boolean;
}

/** Memory of the container, or of the machine. */
export function memoryBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}

/** The program, and each worker under a flood with the garbage that it has not collected. */
const FLOODED_PROGRAM_BYTES = 96 * MIB;
const FLOODED_WORKER_BYTES = 128 * MIB;

/** As many workers as cores, or as the memory has room for under a flood; at least one. */
export function workersFor(cores: number, bytes = memoryBytes()): number {
  const room = Math.floor((bytes - FLOODED_PROGRAM_BYTES) / FLOODED_WORKER_BYTES);
  return Math.max(1, Math.min(cores, room));
}

/** No share is more than the full one. */
export function memoryShares({ workers, hasTls }: ShareFacts, bytes = memoryBytes()): MemoryShares {
  const free = bytes - PROGRAM_BYTES - workers * WORKER_BYTES;
  const clients = Math.max(CLIENTS_BYTES_MIN, free / 2 / workers);
  const counters = Math.max(COUNTER_BYTES_MIN, (bytes - COUNTERS_FROM_BYTES) / 2);
  const full = FULL_SHARES;
  return {
    connections: atMost(full.connections, clients / 2 / (hasTls ? TLS_CONNECTION_BYTES : CONNECTION_BYTES)),
    exchanges: atMost(full.exchanges, clients / 2 / EXCHANGE_BYTES),
    incompleteHeadBytes: atMost(full.incompleteHeadBytes, clients / 4),
    bufferedRequestBytes: atMost(full.bufferedRequestBytes, clients / 4),
    passingBytes: atMost(full.passingBytes, clients / 2),
    leases: atMost(full.leases, clients / 4 / LEASE_BYTES),
    youngBytes: atMost(full.youngBytes, bytes / 8 / (workers + 2)),
    counterBytes: atMost(full.counterBytes, counters),
    statsBytes: atMost(full.statsBytes, bytes / 16),
  };
}

/** Memory below which the shares do not fit: each worker has its minimum then, and a flood can end the process. */
export function memoryNeeded(workers: number): number {
  return PROGRAM_BYTES + workers * (WORKER_BYTES + 2 * CLIENTS_BYTES_MIN);
}

/** What the log says about too little memory; undefined if there is enough. */
export function memoryProblem(workers: number, bytes = memoryBytes()): string | undefined {
  const needed = memoryNeeded(workers);
  if (bytes >= needed) return undefined;
  const mib = (count: number): string => `${Math.floor(count / MIB)} MiB`;
  const fix = workers === 1 ? '' : ', or lower GATEWAY_WORKERS';
  return `there are ${mib(bytes)} of memory, and ${mib(needed)} are needed: the kernel may end the gateway when there is much traffic; give it more memory${fix}`;
}

const atMost = (most: number, share: number): number => Math.floor(Math.min(most, share));
