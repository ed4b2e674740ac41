/**
 * `POST /api/v1/try`: one real request to the gateway's own traffic listener, and what a client would have got. It goes
 * nowhere else: the address comes from the gateway, never from the call. It is traffic like any other: logged, counted
 * and limited, so that the audit log, which has writes of the configuration, has no entry of it.
 */
import { jsonSchema } from '../../model/json-schema.ts';
import type { Explanation } from '../../explain/schema.ts';
import { Admission } from '../api/admission.ts';
import { answer, fail, invalid } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import type { ManagementContext } from '../context.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { requestErrors } from './request-rules.ts';
import { sendRequest, type Received } from './send-request.ts';
import { TryInputSchema, TryOutcomeSchema, type TryInput, type TryOutcome } from './try-schema.ts';

const TRIES_MAX = 8;

export function tryOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${API_PREFIX}/try`,
    operationId: 'tryRequest',
    tag: 'Explain',
    summary: 'Send one real request through the gateway',
    description:
      'The gateway sends the request to its own traffic listener. Policies see an address of this machine as the client’s address, and the answer contains it. The request reaches the backend, and is logged, counted and limited like any other, but it is not in the audit log.',
    access: 'editor',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(TryInputSchema),
      required: true,
      mergePatch: false,
      example: { method: 'GET', path: '/billing/v1/invoices', headers: [['Accept', 'application/json']] },
    },
    admission: new Admission(TRIES_MAX),
    entityTag: false,
    success: {
      status: 200,
      description: 'What a client would have received, even if there was no answer',
      schema: jsonSchema(envelopeSchema('TryEnvelope', TryOutcomeSchema)),
    },
    failures: ['overloaded'],
    handle: async ({ body }) => {
      const input = body as TryInput;
      const errors = requestErrors(input);
      if (errors.length > 0) return invalid(errors);
      const listener = await context.ownListener();
      if (listener === undefined) return fail('overloaded', 'The gateway does not accept traffic yet');
      const received = await sendRequest(listener, input, () => context.clock.monotonicMs());
      const denial = await denialOf(received, context);
      const message = received.status === null ? 'No answer' : `Answered with ${received.status}`;
      return answer(200, message, { ...received, denial } satisfies TryOutcome);
    },
  };
}

/** What explain has recorded about a request that the gateway itself refused or could not forward. */
async function denialOf(
  { status, request_id: id }: Received,
  { explain }: ManagementContext,
): Promise<TryOutcome['denial']> {
  if (id === null || status === null || status < 400) return null;
  const explanation = await explain.recorded({ requestId: id });
  return explanation === undefined ? null : shortDenial(explanation);
}

function shortDenial({ code, stages, fix }: Explanation): TryOutcome['denial'] {
  const deciding = stages.findLast(({ verdict }) => verdict === 'denied');
  return {
    code,
    stage: deciding?.stage ?? null,
    detail: deciding?.detail ?? null,
    fix: fix?.detail ?? null,
  };
}
