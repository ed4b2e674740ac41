/**
 * Which stream ends when all places are taken and another caller wants one. Without this, the streams of few callers
 * would keep all others out for as long as they last. Pure.
 */
import type { AdminRole } from '../../model/resources.ts';

export interface StreamHolder {
  readonly actorId: string;
  readonly role: AdminRole;
}

/**
 * The newest stream of the caller that has the most, if the newcomer has at least two fewer: the one that loses it
 * then cannot take it back, so no two callers end each other's streams in turn. For an admin that has no stream, also
 * one of a caller that is no admin.
 *
 * @param holders the oldest stream first
 */
export function givesWay<Holder extends StreamHolder>(
  holders: readonly Holder[],
  newcomer: StreamHolder,
): Holder | undefined {
  const counts = new Map<string, number>();
  const count = (actorId: string): number => counts.get(actorId) ?? 0;
  for (const { actorId } of holders) counts.set(actorId, count(actorId) + 1);
  const own = count(newcomer.actorId);
  const most = mostOf(holders, count);
  if (most !== undefined && count(most.actorId) >= own + 2) return most;
  if (newcomer.role !== 'admin' || own > 0) return undefined;
  return mostOf(
    holders.filter(({ role }) => role !== 'admin'),
    count,
  );
}

function mostOf<Holder extends StreamHolder>(
  holders: readonly Holder[],
  count: (actorId: string) => number,
): Holder | undefined {
  let most: Holder | undefined;
  for (const holder of holders)
    if (most === undefined || count(holder.actorId) >= count(most.actorId)) most = holder;
  return most;
}
