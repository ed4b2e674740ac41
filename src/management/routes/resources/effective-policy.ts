/** `GET …/effective-policy`: the merged policy of an app, revision or endpoint, and the level of each part. */
import type { App, Endpoint, Revision } from '../../../model/resources.ts';
import { EffectivePolicySchema, envelopeSchema } from '../../schemas/envelope.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { mergePolicy } from '../../../config/merge-policy.ts';
import type { ConfigReader } from '../../../storage/repository.ts';
import type { ManagementContext } from '../../context.ts';
import { itemPath, locate, rulesOf } from '../../crud/locate.ts';
import { answer, isFailure, withWarnings, type Failure } from '../../api/failure.ts';
import type { Call, Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import { maskPolicy } from '../../write/policy-secrets-view.ts';
import { viewWarnings } from '../../write/warnings/policy.ts';
import { limitsOfSettings, withPartsOfSettings } from '../../write/parts-of-settings.ts';
import { apps } from './apps.ts';
import { endpoints } from './endpoints.ts';
import { findRevisionScope, revisions } from './revisions.ts';

interface Levels {
  readonly app: App;
  readonly revision: Revision | undefined;
  readonly endpoint: Endpoint | undefined;
}

type FindLevels = (reader: ConfigReader, params: Call['params']) => Promise<Levels | Failure>;

export function effectivePolicyOperations(context: ManagementContext): Operation[] {
  return [
    effectivePolicy(context, 'App', itemPath(apps), async (reader, params) => {
      const located = await locate(apps, reader, params);
      return isFailure(located) ? located : { app: located.record, revision: undefined, endpoint: undefined };
    }),
    effectivePolicy(context, 'Revision', itemPath(revisions), async (reader, params) => {
      const scope = await findRevisionScope(reader, params);
      return isFailure(scope) ? scope : { ...scope, endpoint: undefined };
    }),
    effectivePolicy(context, 'Endpoint', itemPath(endpoints), async (reader, params) => {
      const located = await locate(endpoints, reader, params);
      return isFailure(located) ? located : { ...located.scope, endpoint: located.record };
    }),
  ];
}

const SUBJECTS = { App: 'an app', Revision: 'a revision', Endpoint: 'an endpoint' } as const;

function effectivePolicy(
  context: ManagementContext,
  name: keyof typeof SUBJECTS,
  path: string,
  find: FindLevels,
): Operation {
  return {
    method: 'GET',
    path: `${path}/effective-policy`,
    operationId: `get${name}EffectivePolicy`,
    tag: `${name}s`,
    summary: `Effective policy of ${SUBJECTS[name]}`,
    description:
      'The merged policy of the settings, the app, the revision and the endpoint; `global` is the level of the settings. `warnings` covers the whole policy, from all levels.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The merged policy',
      schema: jsonSchema(envelopeSchema('EffectivePolicyEnvelope', EffectivePolicySchema)),
    },
    failures: [],
    handle: async (call) => {
      return context.repository.read(async (reader) => {
        const levels = await find(reader, call.params);
        if (isFailure(levels)) return levels;
        const { app, revision, endpoint } = levels;
        const effective = mergePolicy(app, revision, endpoint);
        const view = { app, endpoint, effective, isOwn: () => true, pointer: '/policy' };
        const warnings = await viewWarnings(view, rulesOf(context, reader));
        const { policy, sources } = withPartsOfSettings(effective, context.limitSettings, app.id);
        const settings = limitsOfSettings(context.limitSettings);
        const data = { policy: maskPolicy(policy), sources, ...(settings && { settings }) };
        return withWarnings(answer(200, 'Effective policy', data), warnings);
      });
    },
  };
}
