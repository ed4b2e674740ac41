/**
 * The algorithms with which one revision chooses among its targets, or among those of one zone: the other targets
 * then have no weight.
 */
import { placeText } from '../../egress/unix-sockets.ts';
import type { CompiledTargets } from '../../config/types.ts';
import { HashChoice } from './hash-choice.ts';
import { LeastRequests } from './least-requests.ts';
import { RoundRobin } from './round-robin.ts';

export interface TargetChoosers {
  /** By index; 0 for targets that are not candidates. */
  readonly weights: readonly number[];
  readonly least: LeastRequests;
  readonly turns: RoundRobin | undefined;
  readonly hash: HashChoice | undefined;
}

/**
 * @param before choosers of the replaced targets, whose round-robin continues
 * @param placeOf index of a target there; negative if it is new
 */
export function createChoosers(
  { list, balancing: { algorithm } }: CompiledTargets,
  weights: readonly number[],
  before: TargetChoosers | undefined,
  placeOf: (index: number) => number,
): TargetChoosers {
  const names = list.map(({ backend }) => placeText(backend.host, backend.port));
  const turns = algorithm === 'round_robin' ? new RoundRobin(weights) : undefined;
  if (before?.turns !== undefined) turns?.continue(before.turns, placeOf);
  return {
    weights,
    least: new LeastRequests(weights),
    turns,
    hash: algorithm === 'hash' ? new HashChoice(names, weights) : undefined,
  };
}
