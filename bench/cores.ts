/**
 * Which core does what: the proxy that is measured has one to itself, the load generator and the origin share
 * another. With more cores than two the load gets its own as well.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { programPath } from './programs.ts';

/** Cores that the bench may use; asked for before it keeps off some of them. */
export const CORES = availableParallelism();

export interface Cores {
  /** List for `taskset -c`. */
  readonly proxy: string;
  readonly load: string;
}

/** The layout for a proxy with that many workers. */
export function coresFor(workers: number): Cores {
  if (CORES < 2) throw new Error('The bench needs two cores: one for the proxy, one for load and origin');
  const proxyCores = Math.min(workers, CORES);
  // Where the proxy takes all cores, the load has to share them: figures then compare only with each other.
  const load = proxyCores < CORES ? `${proxyCores}-${CORES - 1}` : `0-${CORES - 1}`;
  return { proxy: proxyCores === 1 ? '0' : `0-${proxyCores - 1}`, load };
}

/** Keeps this program, which calls the management API while it measures, off the proxy's core. */
export function stayOffProxy({ load }: Cores): void {
  execFileSync(programPath('taskset'), ['-apc', load, String(process.pid)]);
}
