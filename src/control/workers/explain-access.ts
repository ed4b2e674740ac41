/** Joins what the main thread keeps for explain with the workers, for the management API. */
import type { ExplainAccess } from '../../management/explain-access.ts';
import type { ExplainControl } from './explain-control.ts';
import type { Supervisor } from './supervisor.ts';

export function explainAccess(control: ExplainControl, supervisor: Supervisor): ExplainAccess {
  return {
    describe: (input) => supervisor.explain(input),
    recorded: (requestId) => supervisor.explainRecorded(requestId),
    sampling: () => control.sampling,
    startSampling: (appId, rate, seconds) => control.startSampling(appId, rate, seconds),
    stopSampling: () => control.stopSampling(),
    listTokens: () => control.listTokens(),
    createToken: (appId, seconds) => control.createToken(appId, seconds),
    deleteToken: (id) => control.deleteToken(id),
    publish: () => supervisor.publishExplainSetup(),
  };
}
