/**
 * A worker thread of limits/million-callers.test.ts: takes once for each of many callers, and tells how many were
 * admitted, and for how long at most one take kept it: a thread that was suspended has taken longer than its work does.
 */
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

export interface MillionWorkerReport {
  readonly admitted: number;
  readonly longestTakeMs: number;
}

const { memory, owner, rule, callers, nowMs } = workerData as MillionWorkerData;
const store = new SharedMemoryLimitStore(memory, owner);
let admitted = 0;
let longestTakeMs = 0;
let lastMs = performance.now();
for (let caller = 0; caller < callers; caller++) {
  if (store.take(rule, `caller ${caller}`, nowMs + owner).admitted) admitted++;
  const endMs = performance.now();
  longestTakeMs = Math.max(longestTakeMs, endMs - lastMs);
  lastMs = endMs;
}
const report: MillionWorkerReport = { admitted, longestTakeMs };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
parentPort!.postMessage(report);
