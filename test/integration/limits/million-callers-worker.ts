/** A worker thread of limits/million-callers.test.ts: takes once for each of many callers, and tells how many were admitted. */
import { parentPort, workerData } from 'node:worker_threads';
import { type LimitMemory, SharedMemoryLimitStore } from '../../../src/limits/local/local-store.ts';
import type { LimitRule } from '../../../src/limits/store.ts';

export interface MillionWorkerData {
  readonly memory: LimitMemory;
  readonly owner: number;
  readonly rule: LimitRule;
  readonly callers: number;
  readonly nowMs: number;
}

const { memory, owner, rule, callers, nowMs } = workerData as MillionWorkerData;
const store = new SharedMemoryLimitStore(memory, owner);
let admitted = 0;
for (let caller = 0; caller < callers; caller++) {
  if (store.take(rule, `caller ${caller}`, nowMs + owner).admitted) admitted++;
}
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
parentPort!.postMessage(admitted);
