/** The workloads in the order in which they run. */
import { fullPolicy, fullPolicyLogged } from './full-policy.ts';
import { bodies, passThrough } from './pass-through.ts';
import type { Workload } from './workload.ts';

export const WORKLOADS: readonly Workload[] = [fullPolicy, fullPolicyLogged, passThrough, bodies];
