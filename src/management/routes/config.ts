/**
 * The whole configuration as one declared tree: read it, plan a change, apply it. An apply is one transaction and
 * one swap on all workers, or nothing.
 */
import { Type } from 'typebox';
import { closed } from '../../model/schema-pieces.ts';
import { randomHex } from '../../lib/ids.ts';
import { ConfigAppliedEnvelope, ConfigPlanEnvelope } from '../schemas/config/config-changes.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import { checkRole } from '../access/admin-auth.ts';
import { answer, invalid, isFailure, notFound, type Answer, type Failure } from '../api/failure.ts';
import { Admission } from '../api/admission.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import { MESSAGE_FIELD, withMessage, type WriteNote } from '../write/write-note.ts';
import type { ManagementContext } from '../context.ts';
import { rulesOf } from '../crud/locate.ts';
import { auditChanges } from '../declaration/audit-changes.ts';
import { below } from '../../model/warnings.ts';
import { changeWarnings } from '../write/warnings/change-warnings.ts';
import { applyTree, DELETES_MAX_DEFAULT, type ApplyOptions } from '../declaration/apply-tree.ts';
import type { DeclaredChanges } from '../declaration/declared-changes.ts';
import { allApps, liveKeys, type DeclaredTree } from '../declaration/declared-app.ts';
import { declaredKeys, hasValue } from '../declaration/key-values.ts';
import { presentChanges } from '../declaration/present-changes.ts';
import { movedSince } from '../history/moved-since.ts';
import { DOCUMENT_SCHEMA, publishedSchema } from '../declaration/document-schema.ts';
import { declaredThen } from '../history/kept-versions.ts';
import { OWNER_LABEL, treeOf, type StoredApp } from '../declaration/tree.ts';
import { TRAFFIC_FIELD, withTraffic } from './config-traffic.ts';
import type { Unchanged, WriteWork, Written } from '../write/write.ts';

/** A declared configuration may be as large as a document of the command line, and is sent in one piece. */
const CONFIG_BODY_BYTES_MAX = 32 * 1024 * 1024;
/** Limit of plans that are received, wait or run: each may be as large as a body. */
const PLANS_MAX = 8;
/**
 * The same limit for applies. They have separate places, so that plans, which viewers may request, cannot use them up.
 */
const APPLIES_MAX = 8;
const DELETES_MAX_MAX = 10_000_000;
const KEY_BLINDING_BYTES = 32;

const APP_QUERY = jsonSchema(
  Type.Object(
    {
      app: Type.Optional(Type.String({ maxLength: 128, description: 'Slug or id of the only app to show.' })),
      owner: Type.Optional(Type.String({ maxLength: 128, description: 'Only apps with this owner.' })),
      version: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Config version to show. 410 when the history no longer contains it.',
        }),
      ),
    },
    closed,
  ),
);

const PLAN_FIELDS: Readonly<Record<string, JsonSchema>> = {
  config: DOCUMENT_SCHEMA,
  adopt: {
    type: 'boolean',
    default: false,
    description: 'Take over apps that have another owner or no owner.',
  },
  prune: {
    type: 'boolean',
    default: false,
    description: 'When `owner` is absent: delete the apps that have no owner and are not in `config`.',
  },
  max_deletes: {
    type: 'integer',
    minimum: 0,
    maximum: DELETES_MAX_MAX,
    default: DELETES_MAX_DEFAULT,
    description: 'Maximum number of records that may be deleted, including the records below them.',
  },
};

const APPLY_FIELDS: Readonly<Record<string, JsonSchema>> = {
  ...PLAN_FIELDS,
  base_version: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The config version for which the plan was made; 409 when another version is in force.',
  },
  rebase: {
    type: 'boolean',
    default: false,
    description: 'Apply even when `base_version` is no longer in force.',
  },
  message: MESSAGE_FIELD,
};

export function configOperations(context: ManagementContext): Operation[] {
  return [readOperation(context), schemaOperation(), planOperation(context), applyOperation(context)];
}

function readOperation(context: ManagementContext): Operation {
  // A large configuration takes the main thread a tenth of a second, and several at once would not let others run.
  const reads = new Admission(Infinity);
  return {
    method: 'GET',
    path: `${API_PREFIX}/config`,
    operationId: 'getConfig',
    tag: 'Configuration',
    summary: 'Read the configuration as a declared tree',
    description:
      'Records are named by their natural labels. The tree contains no ids and no default values. A secret is shown as a handle, which an apply replaces by the stored secret. Values of API keys are never shown.',
    access: 'viewer',
    query: APP_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The tree',
      schema: jsonSchema(
        envelopeSchema(
          'ConfigEnvelope',
          Type.Object({ config_version: Type.Integer(), config: Type.Unknown() }),
        ),
      ),
    },
    failures: ['not_found', 'config_version_gone'],
    handle: (call) =>
      reads.runAlone(() =>
        context.repository.read(async (reader) => {
          const { owner, version } = call.query;
          const stored =
            typeof version === 'number'
              ? await keptApps(reader, version, call, context.clock.nowMs())
              : await storedApps(reader, call, context.clock.nowMs());
          if (isFailure(stored)) return stored;
          const config = treeOf(stored, owner === undefined ? undefined : String(owner));
          return answer(200, 'Configuration', {
            config_version: version ?? (await reader.configVersion()),
            config,
          });
        }),
      ),
  };
}

async function storedApps(
  reader: ConfigReader,
  { query }: Call,
  nowMs: number,
): Promise<StoredApp[] | Failure> {
  const { app: reference, owner } = query;
  let apps = [...(await allApps(reader)).values()];
  if (reference !== undefined) {
    const found = await reader.findApp(String(reference));
    if (found === undefined) return notFound('app', String(reference));
    apps = [found];
  }
  if (owner !== undefined) apps = apps.filter(({ labels }) => labels[OWNER_LABEL] === owner);
  const stored: StoredApp[] = [];
  for (const { id } of apps) {
    const tree = await reader.loadAppTree(id);
    if (tree !== undefined) stored.push({ tree, keys: await liveKeys(reader, id, nowMs) });
  }
  return stored;
}

/** The apps at a config version of the history. */
async function keptApps(
  reader: ConfigReader,
  configVersion: number,
  { query }: Call,
  nowMs: number,
): Promise<readonly StoredApp[] | Failure> {
  const { app: reference, owner } = query;
  const kept = await declaredThen(reader, configVersion, nowMs);
  if (isFailure(kept)) return kept;
  const named = kept.filter(
    ({ tree: { app } }) => reference === undefined || app.id === reference || app.slug === reference,
  );
  if (reference !== undefined && named.length === 0) return notFound('app', String(reference));
  return owner === undefined ? named : named.filter(({ tree }) => tree.app.labels[OWNER_LABEL] === owner);
}

function schemaOperation(): Operation {
  const document = publishedSchema();
  return {
    method: 'GET',
    path: `${API_PREFIX}/config/schema`,
    operationId: 'getConfigSchema',
    tag: 'Configuration',
    summary: 'JSON Schema of declared configurations',
    description: 'The JSON Schema of a configuration file, for editors and for checks without a gateway.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A JSON Schema (2020-12)',
      contentType: 'application/schema+json',
      schema: { type: 'object' },
    },
    failures: [],
    handle: async () => ({
      status: 200,
      headers: { 'Content-Type': 'application/schema+json' },
      body: JSON.stringify(document),
    }),
  };
}

interface ApplyBody {
  readonly config: DeclaredTree & { readonly owner?: string };
  readonly adopt?: boolean;
  readonly prune?: boolean;
  readonly max_deletes?: number;
  readonly base_version?: number;
  readonly rebase?: boolean;
  readonly message?: string;
}

function bodySchema(title: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', title, properties, required: ['config'], additionalProperties: false };
}

const EXAMPLE = {
  config: {
    owner: 'team-a',
    apps: {
      billing: {
        gateway_path: '/billing',
        versions: { v1: { revisions: { r1: { backend_host: 'billing.internal', is_current: true } } } },
      },
    },
  },
};

function planOperation(context: ManagementContext): Operation {
  const plans = new Admission(PLANS_MAX);
  return {
    method: 'POST',
    path: `${API_PREFIX}/config/plan`,
    operationId: 'planConfig',
    tag: 'Configuration',
    summary: 'Plan an apply',
    description:
      'Says what an apply would change: it does the work of an apply with all of its checks and then rolls everything back. One plan runs at a time; when several are waiting, the answer is 503 with `Retry-After`. For a viewer, a secret in the clear always counts as changed, so that a plan cannot confirm a guess. Values of API keys are compared only for an admin, because only admins may apply them.',
    access: 'viewer',
    admission: plans,
    query: NO_QUERY,
    body: {
      schema: bodySchema('ConfigPlan', { ...PLAN_FIELDS, ...TRAFFIC_FIELD }),
      required: true,
      mergePatch: false,
      example: EXAMPLE,
    },
    bodyBytesMax: CONFIG_BODY_BYTES_MAX,
    entityTag: false,
    success: { status: 200, description: 'The changes', schema: jsonSchema(ConfigPlanEnvelope) },
    failures: ['conflict', 'overloaded'],
    handle: (call) =>
      plans.runAlone(() =>
        context.write(call, applyWork(context, call, 'Plan', call.actor.role === 'viewer'), {
          begin: async () => undefined,
          conclude: (real, change) => {
            const plan = withoutTokens(real);
            const { traffic = true } = call.body as { readonly traffic?: boolean };
            return traffic ? withTraffic(plan, change, context.trials) : plan;
          },
        }),
      ),
  };
}

function applyOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${API_PREFIX}/config/apply`,
    operationId: 'applyConfig',
    tag: 'Configuration',
    summary: 'Apply a declared tree',
    description:
      'One transaction and one swap on all workers, or nothing. Apps that are not in `config` stay unchanged, unless they have its `owner`. The answer shows the values of new keys, once. When several applies are waiting, the answer is 503 with `Retry-After`.',
    access: 'editor',
    admission: new Admission(APPLIES_MAX),
    query: NO_QUERY,
    body: {
      schema: bodySchema('ConfigApply', APPLY_FIELDS),
      required: true,
      mergePatch: false,
      example: { ...EXAMPLE, base_version: 12, message: 'Billing goes live' },
    },
    bodyBytesMax: CONFIG_BODY_BYTES_MAX,
    entityTag: false,
    isWrite: true,
    success: { status: 200, description: 'The changes', schema: jsonSchema(ConfigAppliedEnvelope) },
    failures: ['conflict', 'overloaded'],
    handle: async (call) => {
      const gives = declaredKeys((call.body as ApplyBody).config).find(hasValue);
      const forbidden = gives && checkRole(call.actor, 'admin', `A value at /config${gives.pointer}`);
      return forbidden ?? context.write(withMessage(call), applyWork(context, call, 'Applied'));
    },
  };
}

function applyWork(context: ManagementContext, call: Call, message: string, isBlind = false): WriteWork {
  const body = call.body as ApplyBody;
  const { config, adopt = false, prune = false, max_deletes: deletesMax = DELETES_MAX_DEFAULT } = body;
  const options: ApplyOptions = { owner: config.owner, adopt, prune, deletesMax, isBlind };
  const origin = withMessage(call);
  return async (writer): Promise<Written | Unchanged | Failure> => {
    const version = await writer.configVersion();
    const moved = await movedSince(writer, version, body, call.actor.role === 'admin');
    if (moved !== undefined) return moved;
    const rules = {
      ...rulesOf(context, writer),
      ...(call.actor.role !== 'admin' && { keyBlinding: randomHex(KEY_BLINDING_BYTES) }),
    };
    const log = await applyTree(writer, rules, config, options);
    if (isFailure(log)) return belowConfig(log);
    const data = { base_version: version, ...presentChanges(log.changes), created_keys: log.created };
    const done = answer(200, log.changes.length === 0 ? 'Nothing to change' : message, data);
    if (log.changes.length === 0) return { unchanged: done };
    await auditChanges(log, writer, origin, context.clock.nowMs());
    const warnings = async () => below('/config', await changeWarnings(log.changes, rules));
    return { answer: done, touched: log.touched, audit: auditOfApply(log, options, origin), warnings };
  };
}

/** Pointers into the tree as pointers into the body. */
function belowConfig(failure: Failure): Failure {
  if (failure.errors === undefined) return failure;
  const errors = failure.errors.map((error) => ({ ...error, pointer: `/config${error.pointer}` }));
  return { ...invalid(errors), failure: failure.failure };
}

/** A plan creates keys only to check that it can. */
function withoutTokens(real: Answer): Answer {
  const { body } = real;
  if (typeof body !== 'object' || !('data' in body)) return real;
  const { created_keys: _keys, ...data } = body.data as Readonly<Record<string, unknown>>;
  return { ...real, body: { ...body, data } };
}

function auditOfApply(
  log: DeclaredChanges,
  options: ApplyOptions,
  { source, commit, message }: WriteNote,
): Written['audit'] {
  const { totals } = presentChanges(log.changes);
  return {
    action: 'config.apply',
    resourceType: 'config',
    resourceId: options.owner ?? '',
    resourceName: options.owner ?? null,
    parents: {},
    change: { ...totals, source, commit, message },
  };
}
