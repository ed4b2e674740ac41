/**
 * `POST /explain`: what the gateway does with a described request, and why, without sending, counting or consuming
 * anything. `GET /explain/{request_id}`: the same for a recent real exchange. The workers explain; facts that only
 * the database has, about revisions that are not current, are added here. Neither returns the token of a described
 * request, nor secrets of policies.
 */
import { normaliseAddress } from '../../../http/address.ts';
import { PAGE_LIMIT_MAX } from '../../schemas/common.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import {
  ExplainInputSchema,
  ExplanationSchema,
  type ExplainInput,
  type Explanation,
} from '../../../explain/schema.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { Revision } from '../../../model/resources.ts';
import { partOfStage } from '../../../policy/registry.ts';
import { StorageUnavailable } from '../../../storage/storage-errors.ts';
import type { ManagementContext } from '../../context.ts';
import { answer, fail, invalid, type Answer, type Failure } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import { withCall } from './fix-call.ts';
import { maskPart } from '../../write/policy-secrets-view.ts';

const envelope = jsonSchema(envelopeSchema('ExplanationEnvelope', ExplanationSchema));

export function explainOperations(context: ManagementContext): Operation[] {
  return [explainDescribed(context), explainRecorded(context)];
}

function explainDescribed(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${API_PREFIX}/explain`,
    operationId: 'explainRequest',
    tag: 'Explain',
    summary: 'Explain a described request',
    description:
      'Runs the request through a worker as the proxy would, without sending, counting or consuming anything.',
    access: 'viewer',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(ExplainInputSchema),
      required: true,
      mergePatch: false,
      example: { method: 'GET', url: '/billing/v1/invoices', client_ip: '203.0.113.7' },
    },
    entityTag: false,
    success: { status: 200, description: 'What happens to the request, and why', schema: envelope },
    failures: ['overloaded'],
    handle: async (call) => {
      const input = call.body as ExplainInput;
      const errors = descriptionErrors(input);
      if (errors.length > 0) return invalid(errors);
      const explanation = await context.explain.describe(input);
      if (explanation === undefined) return fail('overloaded', 'No worker has answered in time');
      return explained(context, explanation);
    },
  };
}

function explainRecorded(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/explain/{request_id}`,
    operationId: 'explainExchange',
    tag: 'Explain',
    summary: 'Explain a recent exchange',
    description:
      'Denied and failed exchanges are kept for a while. Allowed exchanges are kept while sampling is on. ' +
      'Bodies, queries and credentials are not kept.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: { status: 200, description: 'What happened to the request, and why', schema: envelope },
    failures: [],
    handle: async (call) => {
      const requestId = call.params['request_id'] ?? '';
      const explanation = await context.explain.recorded({ requestId });
      if (explanation !== undefined) return explained(context, explanation);
      return fail(
        'not_found',
        `No exchange "${requestId}" is kept: it was allowed and not sampled, or its record was replaced by later ` +
          'records, or its worker has ended',
      );
    },
  };
}

/**
 * Errors that the schema cannot express.
 * @param at pointer to the description in the body
 */
export function descriptionErrors(
  { token, headers = {}, body_bytes: bytes, client_ip: ip }: ExplainInput,
  at = '',
): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  if (token !== undefined && names.has('authorization')) {
    errors.push({ pointer: `${at}/token`, detail: 'cannot be given together with an Authorization header' });
  }
  if (bytes !== undefined && names.has('content-length')) {
    errors.push({
      pointer: `${at}/body_bytes`,
      detail: 'cannot be given together with a Content-Length header',
    });
  }
  if (ip !== undefined && normaliseAddress(ip) === undefined) {
    errors.push({ pointer: `${at}/client_ip`, detail: 'must be an IP address' });
  }
  return errors;
}

export async function explained(
  context: ManagementContext,
  explanation: Explanation,
): Promise<Answer | Failure> {
  const completed = await withIdleRevisions(context, explanation);
  const fix = await withCall(context, completed);
  return answer(200, summaryOf(completed), { ...masked(completed), fix });
}

/** The explanation without secrets of policies. */
export function masked(explanation: Explanation): Explanation {
  const stages = explanation.stages.map((stage) => {
    const part = partOfStage(stage.stage);
    return part === undefined ? stage : { ...stage, value: maskPart(part.name, stage.value) };
  });
  return { ...explanation, stages };
}

function summaryOf({ outcome, code }: Explanation): string {
  return code === null ? `The request is ${outcome}` : `The request is ${outcome}: ${code}`;
}

/** Adds revisions that are not current, which workers do not know. */
async function withIdleRevisions(context: ManagementContext, explanation: Explanation): Promise<Explanation> {
  const { version, candidates, fix } = explanation;
  if (version === null) return explanation;
  const idle = await idleRevisions(context, version.id);
  const newest = idle.at(-1);
  return {
    ...explanation,
    candidates: [...candidates, ...idle.map(idleCandidate)],
    fix: fix?.action === 'activate_revision' ? activation(newest, version) : fix,
  };
}

/** Empty when the database is unavailable: the rest of the explanation does not need it. */
async function idleRevisions({ repository }: ManagementContext, versionId: string): Promise<Revision[]> {
  try {
    const request = { limit: PAGE_LIMIT_MAX, after: undefined };
    const page = await repository.read((reader) => reader.listRevisions(versionId, request));
    return page.items.filter((revision) => !revision.is_current);
  } catch (error) {
    if (error instanceof StorageUnavailable) return [];
    throw error;
  }
}

function idleCandidate(revision: Revision): Explanation['candidates'][number] {
  return {
    id: revision.id,
    revision: revision.revision,
    is_current: false,
    traffic_weight: revision.traffic_weight,
    share: 0,
    breaker: 'none',
    candidate: false,
    chosen: false,
    reason: 'it is not current',
  };
}

function activation(
  revision: Revision | undefined,
  version: NonNullable<Explanation['version']>,
): Explanation['fix'] {
  if (revision === undefined) {
    const detail = `Create a current revision of version ${version.version}`;
    const target = { type: 'version', id: version.id } as const;
    return { action: 'create_revision', detail, target, value: { is_current: true } };
  }
  const target = { type: 'revision', id: revision.id } as const;
  const detail = `Activate revision ${revision.revision} of version ${version.version}`;
  return { action: 'activate_revision', detail, target, value: { is_current: true } };
}
