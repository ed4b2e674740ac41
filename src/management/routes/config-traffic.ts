/**
 * The field `traffic` of a plan: how many of the recorded recent requests would be answered differently, in groups.
 * The plan itself does not depend on it: when it cannot be determined, the field has the reason.
 */
import { timestamp } from '../../lib/clock.ts';
import type { ConfigTrials } from '../../explain/explain-access.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import type { Answer } from '../api/failure.ts';

export const TRAFFIC_FIELD: Readonly<Record<string, JsonSchema>> = {
  traffic: {
    type: 'boolean',
    default: true,
    description:
      'Determine how many of the recent requests that this gateway has recorded would get a different answer. The result is in `data.traffic` of the answer.',
  },
};

/**
 * Adds `traffic` to the answer of a plan.
 * @param change the change in the form that workers would receive; undefined when nothing would change
 */
export async function withTraffic(
  real: Answer,
  change: ConfigChange | undefined,
  trials: ConfigTrials,
): Promise<Answer> {
  const { body } = real;
  if (typeof body !== 'object' || !('data' in body)) return real;
  const traffic = change === undefined ? null : await presented(change, trials);
  return { ...real, body: { ...body, data: { ...(body.data as object), traffic } } };
}

async function presented(change: ConfigChange, trials: ConfigTrials): Promise<unknown> {
  const { problem, result } = await trials.replayTraffic(change);
  if (problem !== undefined) return { ...NOTHING, problem };
  if (result === undefined) return { ...NOTHING, problem: null };
  const { sinceMs, ...rest } = result;
  return { ...rest, since: sinceMs === undefined ? null : timestamp(sinceMs), problem: null };
}

const NOTHING = {
  requests: 0,
  recorded: 0,
  since: null,
  changed: 0,
  undecided: 0,
  groups: [],
  groups_total: 0,
} as const;
