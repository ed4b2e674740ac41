/** The workloads in the order in which they run. */
import { balance } from './balance.ts';
import { configWrite } from './config-write.ts';
import { consoleOpen } from './console.ts';
import { fullPolicy, fullPolicyLogged } from './full-policy.ts';
import { idle } from './idle.ts';
import { latency } from './latency.ts';
import { nodes } from './nodes.ts';
import { bodies, passThrough } from './pass-through.ts';
import { credentials, limits } from './policies.ts';
import { keys, routes } from './scale.ts';
import { start } from './start.ts';
import { download, upload } from './streams.ts';
import { workers } from './workers.ts';
import type { Workload } from './workload.ts';

export const WORKLOADS: readonly Workload[] = [
  fullPolicy,
  fullPolicyLogged,
  passThrough,
  credentials,
  limits,
  nodes,
  bodies,
  download,
  upload,
  routes,
  keys,
  configWrite,
  latency,
  idle,
  start,
  workers,
  consoleOpen,
  balance,
];
