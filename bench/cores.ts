/**
 * Which core does what: the proxy that is measured has one to itself, the load generator and the origin share
 * another. With more cores than two the load gets its own as well.
 */
import { availableParallelism } from 'node:os';

export interface Cores {
  /** List for `taskset -c`. */
  readonly proxy: string;
  readonly load: string;
}

/** The layout for a proxy with that many workers. */
export function coresFor(workers: number): Cores {
  const count = availableParallelism();
  if (count < 2) throw new Error('The bench needs two cores: one for the proxy, one for load and origin');
  const proxyCores = Math.min(workers, count);
  // Where the proxy takes all cores, the load has to share them: figures then compare only with each other.
  const load = proxyCores < count ? `${proxyCores}-${count - 1}` : `0-${count - 1}`;
  return { proxy: proxyCores === 1 ? '0' : `0-${proxyCores - 1}`, load };
}
