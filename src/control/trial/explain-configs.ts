/** Explains described requests on configurations that are not in force, in a thread of its own. */
import { TrialFailed, type ExplainOn } from '../../explain/explain-access.ts';
import type { TrialThreads } from './trial-thread.ts';

/** Rebuilding and compiling a large configuration takes a second or two, and a search does this about twenty times. */
const TASK_MS = 30_000;

/** See `ConfigTrials`. */
export function explainConfigs<T>(
  trials: TrialThreads,
  task: (explain: ExplainOn) => Promise<T>,
): Promise<T | undefined> {
  return trials.run(TASK_MS, (ask) =>
    task(async (config, request) => {
      const answer = await ask({ type: 'explain', config, request });
      if (answer?.type === 'explained') return answer.tried;
      if (answer?.type === 'failed')
        throw new TrialFailed(`Config version ${config.configVersion} cannot be tried: ${answer.message}`);
      throw new TrialFailed(`The search failed, or took longer than ${TASK_MS / 1_000} s`);
    }),
  );
}
