/** Problems with the key sets of identity providers: those that the workers cannot fetch. */
import type { KeySetFailure } from '../../observe/key-set-failures.ts';
import type { WorkerSample } from '../../observe/metrics/metrics.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { found, type FoundProblem } from './found-problem.ts';

const SETTING = 'GATEWAY_JWT__JWKS_URI';

export function keySetProblems(
  samples: readonly Pick<WorkerSample, 'keySetFailures'>[],
  state: Pick<ConfigState, 'revisions'>,
): FoundProblem[] {
  return merged(samples.flatMap(({ keySetFailures }) => keySetFailures)).map(
    ({ uri, reason, hasKeys, sinceMs }) => {
      const failure = `The key set ${uri} cannot be fetched: ${reason}`;
      const effect = hasKeys
        ? 'The keys that were fetched last stay in use; tokens of newer keys are refused'
        : 'Requests with a token get 503 jwt_keys_unavailable until it can be fetched';
      const app = appWith(uri, state);
      const link =
        app === undefined
          ? ({ kind: 'settings', setting: SETTING } as const)
          : ({ kind: 'app', app } as const);
      const severity = hasKeys ? 'warning' : 'critical';
      return found(severity, 'key_set_unavailable', `${failure}. ${effect}`, link, sinceMs);
    },
  );
}

/** One for each key set: since the first failure of a worker, and as bad as with the worst of them. */
function merged(failures: readonly KeySetFailure[]): KeySetFailure[] {
  const byUri = new Map<string, KeySetFailure>();
  for (const failure of failures) {
    const known = byUri.get(failure.uri);
    const worse = known === undefined || (known.hasKeys && !failure.hasKeys) ? failure : known;
    const sinceMs = Math.min(failure.sinceMs, known?.sinceMs ?? Infinity);
    byUri.set(failure.uri, { ...worse, sinceMs });
  }
  return [...byUri.values()];
}

/** Slug of the first app with a policy that names the key set. */
function appWith(uri: string, state: Pick<ConfigState, 'revisions'>): string | undefined {
  for (const { app, revision } of state.revisions()) {
    const policies = [app.default_policy, revision.default_policy];
    if (JSON.stringify(policies).includes(uri)) return app.slug;
  }
  return undefined;
}
