/**
 * The rate limit store of one worker: the memory of this node or, with GATEWAY_REDIS_URL, leases from the store that
 * all nodes share. The client library is loaded only in that case.
 */
import { type Clock, systemClock } from '../../lib/clock.ts';
import { LeasedLimitStore } from '../../limits/shared/leased-store.ts';
import type { LeasedStoreCounts } from '../../limits/shared/leased-store-deps.ts';
import { liveNodesOf } from '../../limits/shared/live-nodes.ts';
import type { LimitMemory } from '../../limits/local/memory.ts';
import { SharedMemoryLimitStore } from '../../limits/local/local-store.ts';
import type { LimitStore } from '../../limits/store.ts';
import { after } from '../../limits/timers.ts';
import type { Logger } from '../../observe/log.ts';
import { memoryShares } from '../../settings/memory-shares.ts';
import type { Settings } from '../../settings/settings.ts';
import { limitStoreLog } from '../reporting/limit-store-log.ts';

export interface WorkerLimits {
  readonly store: LimitStore;
  /** The shared store; undefined without one. */
  readonly shared:
    | (() => { readonly counts: Readonly<LeasedStoreCounts>; readonly connected: boolean })
    | undefined;
  /** Returns unused leases and closes the connection. */
  close(): Promise<void>;
}

export interface WorkerLimitsDeps {
  readonly settings: Pick<Settings, 'limits' | 'workers'>;
  readonly limitMemory: LimitMemory;
  readonly workerNumber: number;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** If the store does not answer for this long, a worker starts without it. */
const START_WAIT_MS = 1_000;
/** Time for sending back unused leases. */
const CLOSE_WAIT_MS = 20;

export async function createWorkerLimits(deps: WorkerLimitsDeps): Promise<WorkerLimits> {
  const { settings, limitMemory, workerNumber } = deps;
  const local = new SharedMemoryLimitStore(limitMemory, workerNumber);
  const { redisUrl, keyPrefix, connectTimeoutMs, mode, timeoutMs } = settings.limits;
  if (redisUrl === undefined) return { store: local, shared: undefined, close: async () => undefined };
  const { RedisLimitServer } = await import('../../limits/shared/redis/redis-server.ts');
  const server = new RedisLimitServer({ url: redisUrl, keyPrefix, connectTimeoutMs });
  const clock = deps.clock ?? systemClock;
  const report = limitStoreLog(deps.log, clock);
  await server.connect(START_WAIT_MS);
  let started = (): void => undefined;
  const ready = new Promise<void>((done) => (started = done));
  const store = new LeasedLimitStore({
    server,
    local,
    clock,
    after,
    nodes: liveNodesOf(limitMemory.nodes),
    threads: settings.workers,
    leasesMax: memoryShares({ workers: settings.workers, hasTls: false }).leases,
    mode,
    timeoutMs,
    onOutage: (reason) => {
      report.outage(reason);
      started();
    },
    onStillOut: report.stillOut,
    onRecovery: () => {
      report.recovery();
      started();
    },
    onPartLost: report.partLost,
    onCounterRefused: report.counterRefused,
  });
  store.start();
  await ready;
  return {
    store,
    shared: () => ({ counts: store.counts, connected: store.isConnected }),
    close: async () => {
      store.stop();
      await new Promise<void>((done) => void after(CLOSE_WAIT_MS, done));
      server.close();
    },
  };
}
