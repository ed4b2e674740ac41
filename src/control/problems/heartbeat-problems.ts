/** A gateway that shares its database and cannot send heartbeats. */
import { HEARTBEAT_FIX, type HeartbeatFailure } from '../cluster/cluster.ts';
import { found, type FoundProblem } from './found-problem.ts';

const FAILS = 'The heartbeat of this gateway fails';

/** For anonymous callers: contains no path and no host. */
export function heartbeatReason(failure: HeartbeatFailure | undefined): string | undefined {
  if (failure === undefined) return undefined;
  return failure.reason === undefined ? FAILS : `${FAILS}: ${failure.reason}`;
}

export function heartbeatProblems(failure: HeartbeatFailure | undefined, node: string): FoundProblem[] {
  if (failure === undefined) return [];
  const { text, sinceMs } = failure;
  const effect =
    'Traffic is served. The other gateways do not count this one: their changes do not wait for it, and it finds them a little later';
  const detail = `${FAILS}: ${text}. ${effect}. It is retried all the time; if the database refuses it, ${HEARTBEAT_FIX}`;
  return [found('warning', 'heartbeat_failing', detail, { kind: 'nodes', node }, sinceMs)];
}
