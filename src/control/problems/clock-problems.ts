/** Gateways whose clock is not that of the database. */
import { CLOCK_FIX, isClockWrong, wrongClockText } from '../database/clock-watch.ts';
import { found, type FoundProblem } from './found-problem.ts';

/** Beyond this number of gateways, the rest is not named. */
const NAMED_MAX = 50;

export interface NodeClock {
  /** Name of the gateway. */
  readonly node: string;
  /** null: not known. */
  readonly aheadMs: number | null;
}

export function clockProblems(clocks: readonly NodeClock[]): FoundProblem[] {
  return clocks
    .flatMap(({ node, aheadMs }) => (aheadMs !== null && isClockWrong(aheadMs) ? [{ node, aheadMs }] : []))
    .slice(0, NAMED_MAX)
    .map(({ node, aheadMs }) => {
      const detail = `${wrongClockText(`The clock of ${node}`, aheadMs)}: ${CLOCK_FIX}`;
      return found('warning', 'clock_differs', detail, { kind: 'nodes', node });
    });
}
