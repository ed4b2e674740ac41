/**
 * Half load, in the closed loop that wrk is: the number of connections, each with one request at a time, at which the
 * proxy's core is nearest to half busy. Found by trying, since it depends on proxy and machine.
 */
import { measureRound } from '../contest.ts';
import type { Cores } from '../cores.ts';
import type { Load } from '../load.ts';
import type { RunningProgram } from '../processes.ts';

const CANDIDATES = [1, 2, 3, 4, 6, 8, 12];
const HALF_PERCENT = 50;
const TRIAL_SECONDS = 1;

/** The load with another number of connections. */
export async function halfLoad(load: Load, program: RunningProgram, cores: Cores): Promise<Load> {
  let best = load;
  let distance = Infinity;
  for (const connections of CANDIDATES) {
    const candidate = { ...load, connections };
    const { coreUse } = await measureRound(candidate, program, TRIAL_SECONDS, cores);
    if (Math.abs(coreUse - HALF_PERCENT) < distance) {
      distance = Math.abs(coreUse - HALF_PERCENT);
      best = candidate;
    }
    if (coreUse > HALF_PERCENT) break;
  }
  return best;
}
