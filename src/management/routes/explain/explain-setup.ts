/**
 * Preparations for explain: sampling, which keeps allowed exchanges for `GET /explain/{request_id}`, and debug
 * tokens, with which a client gets the decision as a header of its real responses. Neither outlives the process.
 * Both are audited.
 */
import { Type, type TSchema } from 'typebox';
import { nullable } from '../../../model/schema-pieces.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import {
  CreatedDebugTokenSchema,
  DebugTokenInputSchema,
  DebugTokenSchema,
  SamplingInputSchema,
  SamplingSchema,
  type DebugTokenInput,
  type SamplingInput,
} from '../../../explain/setup/setup-schema.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { StorageUnavailable } from '../../../storage/storage-errors.ts';
import type { ManagementContext } from '../../context.ts';
import {
  answer,
  emptyAnswer,
  fail,
  invalid,
  isFailure,
  notFound,
  type Answer,
  type Failure,
} from '../../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import { NOTHING_TOUCHED } from '../../write/write.ts';

const SAMPLING_PATH = `${API_PREFIX}/explain/sampling`;
const TOKENS_PATH = `${API_PREFIX}/explain/debug-tokens`;

const common = { tag: 'Explain', query: NO_QUERY, entityTag: false, failures: [] } as const;
const envelope = (title: string, data: TSchema) => jsonSchema(envelopeSchema(title, data));
const samplingEnvelope = envelope('SamplingEnvelope', nullable(SamplingSchema));

export function samplingOperations(context: ManagementContext): Operation[] {
  const { explain } = context;
  return [
    {
      ...common,
      method: 'GET',
      path: SAMPLING_PATH,
      operationId: 'getSampling',
      summary: 'The sampling in force',
      access: 'viewer',
      success: { status: 200, description: 'The sampling, or null', schema: samplingEnvelope },
      handle: async () => answer(200, 'Sampling', explain.sampling() ?? null),
    },
    {
      ...common,
      method: 'PUT',
      path: SAMPLING_PATH,
      operationId: 'startSampling',
      summary: 'Also keep allowed exchanges for a while',
      description: 'Replaces the current sampling.',
      access: 'editor',
      body: {
        schema: jsonSchema(SamplingInputSchema),
        required: true,
        mergePatch: false,
        example: { app: 'billing', rate: 0.1, seconds: 300 },
      },
      success: { status: 200, description: 'The sampling', schema: samplingEnvelope },
      handle: (call) => startSampling(context, call),
    },
    {
      ...common,
      method: 'DELETE',
      path: SAMPLING_PATH,
      operationId: 'stopSampling',
      summary: 'Stop sampling',
      access: 'editor',
      success: { status: 204, description: 'There is no sampling' },
      handle: async (call) => {
        explain.stopSampling();
        await explain.publish();
        return auditEnd('The sampling has ended', () =>
          audit(context, call, 'sampling.stop', 'sampling', undefined, null),
        );
      },
    },
  ];
}

async function startSampling(context: ManagementContext, call: Call): Promise<Answer | Failure> {
  const { app, rate = 1, seconds } = call.body as SamplingInput;
  const appId = await appIdOf(context, app);
  if (isFailure(appId)) return appId;
  const change = { app_id: appId.id, rate, seconds };
  const audited = await audit(context, call, 'sampling.start', 'sampling', appId.slug, change);
  if (isFailure(audited)) return audited;
  const sampling = context.explain.startSampling(appId.id, rate, seconds);
  await context.explain.publish();
  return answer(200, 'Sampling started', sampling);
}

export function debugTokenOperations(context: ManagementContext): Operation[] {
  const { explain } = context;
  return [
    {
      ...common,
      method: 'GET',
      path: TOKENS_PATH,
      operationId: 'listDebugTokens',
      summary: 'The debug tokens in force',
      description: 'Lists all of them; there are at most 100.',
      access: 'admin',
      success: {
        status: 200,
        description: 'The tokens, without their values',
        schema: envelope('DebugTokensEnvelope', Type.Array(DebugTokenSchema)),
      },
      handle: async () => answer(200, 'Debug tokens listed', explain.listTokens()),
    },
    {
      ...common,
      method: 'POST',
      path: TOKENS_PATH,
      operationId: 'createDebugToken',
      summary: 'Create a debug token',
      description:
        'A request with `X-Headgate-Debug: <token>` is answered with `X-Headgate-Decision`. The value is shown once.',
      access: 'admin',
      body: {
        schema: jsonSchema(DebugTokenInputSchema),
        required: true,
        mergePatch: false,
        example: { app: 'billing', seconds: 600 },
      },
      success: {
        status: 200,
        description: 'The token with its value',
        schema: envelope('CreatedDebugTokenEnvelope', CreatedDebugTokenSchema),
      },
      failures: ['conflict'],
      handle: (call) => createDebugToken(context, call),
    },
    {
      ...common,
      method: 'DELETE',
      path: `${TOKENS_PATH}/{debug_token_id}`,
      operationId: 'deleteDebugToken',
      summary: 'Revoke a debug token',
      access: 'admin',
      success: { status: 204, description: 'The token no longer works' },
      handle: async (call) => {
        const id = call.params['debug_token_id'] ?? '';
        const known = explain.listTokens().find((token) => token.id === id);
        if (!explain.deleteToken(id)) return notFound('debug token', id);
        await explain.publish();
        return auditEnd('The debug token is revoked', async () => {
          const slug = await slugOf(context, known?.app_id);
          return audit(context, call, 'debug_token.delete', id, slug, null);
        });
      },
    },
  ];
}

async function createDebugToken(context: ManagementContext, call: Call): Promise<Answer | Failure> {
  const { explain } = context;
  const { app, seconds } = call.body as DebugTokenInput;
  const appId = await appIdOf(context, app);
  if (isFailure(appId)) return appId;
  const created = explain.createToken(appId.id, seconds);
  if (created === undefined) return fail('conflict', 'There are already 100 debug tokens; delete one first');
  try {
    const change = { app_id: appId.id, expires_at: created.expires_at };
    const audited = await audit(context, call, 'debug_token.create', created.id, appId.slug, change);
    if (isFailure(audited)) {
      explain.deleteToken(created.id);
      return audited;
    }
  } catch (error) {
    explain.deleteToken(created.id);
    throw error;
  }
  explain.allowToken(created.id);
  await explain.publish();
  return answer(200, 'Debug token created', created);
}

/** null without a reference: all apps. */
async function appIdOf(
  { repository }: ManagementContext,
  reference: string | undefined,
): Promise<{ readonly id: string | null; readonly slug?: string } | Failure> {
  if (reference === undefined) return { id: null };
  const app = await repository.read((reader) => reader.findApp(reference));
  if (app === undefined) return invalid([{ pointer: '/app', detail: `"${reference}" is not an app` }]);
  return { id: app.id, slug: app.slug };
}

/** undefined when it was for all apps, or its app was deleted. */
async function slugOf(
  { repository }: ManagementContext,
  appId: string | null | undefined,
): Promise<string | undefined> {
  if (appId === null || appId === undefined) return undefined;
  return (await repository.read((reader) => reader.findApp(appId)))?.slug;
}

/** Audits what has ended already: an unavailable database must not keep it in force. */
async function auditEnd(done: string, recordEnd: () => Promise<Answer | Failure>): Promise<Answer | Failure> {
  try {
    const audited = await recordEnd();
    return isFailure(audited) ? audited : emptyAnswer(204);
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    const why = 'this may be missing in the audit log, because the database cannot be used';
    return fail('storage_unavailable', `${done}; ${why}`);
  }
}

function audit(
  context: ManagementContext,
  call: Call,
  action: string,
  resourceId: string,
  appSlug: string | undefined,
  change: Readonly<Record<string, unknown>> | null,
): Promise<Answer | Failure> {
  return context.write(call, async () => ({
    answer: emptyAnswer(204),
    touched: NOTHING_TOUCHED,
    audit: {
      action,
      resourceType: action.split('.', 1)[0] ?? '',
      resourceId,
      resourceName: null,
      parents: appSlug === undefined ? {} : { app: appSlug },
      change,
    },
  }));
}
