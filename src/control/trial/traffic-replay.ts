/**
 * Plan by traffic: collects the recorded requests of the workers and the part of the configuration that the replay
 * needs, and replays them in a thread of its own. Changes nothing, and no worker sees the planned configuration.
 */
import type { ConfigChange } from '../../model/config.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import type { TrafficAnswer } from '../../explain/explain-access.ts';
import { keyIdsOf, versionIdsOf } from '../../explain/traffic/traffic-record.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { replayBase } from './replay-base.ts';
import { TRIALS_BUSY, type TrialThreads } from './trial-thread.ts';

/** Time limit for the replay; the rest of the task may take as long again and more. */
const REPLAY_MS = 2_000;
/** A large configuration has to be compiled first. */
const TASK_MS = 10_000;

export interface TrafficReplayDeps {
  readonly state: ConfigState;
  readonly trials: TrialThreads;
  /** Recorded requests of all workers. */
  readonly trafficRecords: () => Promise<string[]>;
}

/** @param change the change in the form that workers would receive */
export async function replayTraffic(
  change: ConfigChange,
  { state, trials, trafficRecords }: TrafficReplayDeps,
): Promise<TrafficAnswer> {
  const records = await trafficRecords();
  if (records.length === 0) return { problem: undefined, result: undefined };
  const tried = await trials.run(TASK_MS, (ask) => {
    const base = replayBase(state.asWorkerChange(), change, versionIdsOf(records));
    const keys = keysOf(records, state);
    return ask({ type: 'replay', job: { base, change, records, keys, timeMs: REPLAY_MS } }).then(
      (answer) => ({ answer }),
    );
  });
  if (tried === undefined) return failed(TRIALS_BUSY);
  const { answer } = tried;
  if (answer === undefined) return failed(`it failed, or took longer than ${TASK_MS / 1_000} s`);
  if (answer.type === 'replayed') return { problem: undefined, result: answer.result };
  return failed(answer.type === 'failed' ? answer.message : 'an unexpected answer');
}

const failed = (problem: string): TrafficAnswer => ({ problem, result: undefined });

function keysOf(records: readonly string[], { keys }: ConfigState): StoredApiKey[] {
  return [...keyIdsOf(records)].flatMap((id) => keys.findKeyById(id) ?? []);
}
