/** Problems with the key sets of identity providers: those that the workers cannot fetch. */
import { shownUri } from '../../lib/text/shown-uri.ts';
import type { KeySetFailure } from '../../observe/key-set-failures.ts';
import type { WorkerSample } from '../../observe/metrics/metrics.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { found, type FoundProblem } from './found-problem.ts';

const SETTING = 'GATEWAY_JWT__JWKS_URI';

export function keySetProblems(
  samples: readonly Pick<WorkerSample, 'keySetFailures'>[],
  state: Pick<ConfigState, 'revisions'>,
): FoundProblem[] {
  const failures = merged(samples.flatMap(({ keySetFailures }) => keySetFailures));
  const apps = appsOf(
    failures.map(({ uri }) => uri),
    state,
  );
  return failures.map(({ uri, reason, hasKeys, sinceMs }) => {
    const failure = `The key set ${uri} cannot be fetched: ${reason}`;
    const effect = hasKeys
      ? 'The keys that were fetched last stay in use; tokens of newer keys are refused'
      : 'Requests with a token get 503 jwt_keys_unavailable until it can be fetched';
    const app = apps.get(uri);
    const link =
      app === undefined ? ({ kind: 'settings', setting: SETTING } as const) : ({ kind: 'app', app } as const);
    const severity = hasKeys ? 'warning' : 'critical';
    return found(severity, 'key_set_unavailable', `${failure}. ${effect}`, link, sinceMs);
  });
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

/** As policies name key sets, whatever part does so. */
const NAMED = /"jwks_uri":("(?:[^"\\]|\\.)*")/g;

/** By key set: slug of the first app with a policy that names it. Looks at each policy once. */
function appsOf(uris: readonly string[], state: Pick<ConfigState, 'revisions'>): Map<string, string> {
  const [wanted, found] = [new Set(uris), new Map<string, string>()];
  if (wanted.size === 0) return found;
  let last: unknown;
  for (const { app, revision } of state.revisions()) {
    const policies = app === last ? [revision.default_policy] : [app.default_policy, revision.default_policy];
    last = app;
    for (const [, named = ''] of policies.flatMap((policy) => [...JSON.stringify(policy).matchAll(NAMED)])) {
      const uri = shownUri(JSON.parse(named) as string);
      if (wanted.delete(uri)) found.set(uri, app.slug);
    }
    if (wanted.size === 0) break;
  }
  return found;
}
