/**
 * Serves one operation: authentication, role, admission, query, body and note, and the answer. Owns the places
 * (admission.ts) of calls under way.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { UNIX_PEER } from '../http/address.ts';
import { clientAddress } from '../http/fields/forwarded.ts';
import { newBudget, withBudget, type DeadlineBudget } from '../lib/deadline-budget.ts';
import type { Actor } from './access/admin-auth.ts';
import type { ApiAccess } from './access/api-access.ts';
import { checkAccess } from './access/dry-run-role.ts';
import { lastingCall, type LastingCall } from './access/lasting-call.ts';
import { readOnlyFailure } from './access/read-only.ts';
import { Admission, type Leave } from './api/admission.ts';
import { checkBody } from './api/body.ts';
import { fail, failureWith, isFailure, type Answer, type Failure } from './api/failure.ts';
import type { Operation } from './api/operation.ts';
import { parseQuery } from './api/query.ts';
import { sendAnswer, sendFailure } from './api/send.ts';
import type { ManagementStatus } from './context.ts';
import { STALE_HEADER } from './crud/reading.ts';
import { NO_NOTE, readWriteNote } from './write/write-note.ts';
import { isUnixClient } from './management-socket.ts';

/** The caller of public operations. */
const ANONYMOUS: Actor = { id: 'anonymous', name: 'anonymous', role: 'viewer' };

/** The authenticated caller of each request. */
export type Actors = WeakMap<FastifyRequest, Actor>;

export interface AdminAccess extends Pick<ApiAccess, 'authenticate' | 'revoke'> {
  readonly addressOf: (request: FastifyRequest) => string;
  readonly actors: Actors;
  readonly configFile: ManagementStatus['configFile'];
}

export function serve(
  server: FastifyInstance,
  operation: Operation,
  { authenticate, revoke, addressOf, actors, configFile }: AdminAccess,
): void {
  const lastingCalls = new WeakMap<FastifyRequest, LastingCall>();
  // Authentication and handler share one time budget for the database.
  const budgetOf = new WeakMap<FastifyRequest, DeadlineBudget>();
  server.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    ...(operation.bodyBytesMax !== undefined && { bodyLimit: operation.bodyBytesMax }),
    // Before the body is read, so that a refused call cannot make the server read a megabyte.
    onRequest: async (request, reply) => {
      if (operation.access === 'public') return undefined;
      const budget = newBudget();
      budgetOf.set(request, budget);
      const { method, headers, id: requestId } = request;
      const presented = { method, headers, address: addressOf(request), requestId };
      const actor = await withBudget(budget, () => authenticate(presented));
      if (isFailure(actor)) return sendFailure(request, reply, actor);
      actors.set(request, actor);
      lastingCalls.set(
        request,
        lastingCall(request, reply, async () => {
          const again = await authenticate({ ...presented, isRenewal: true });
          return isFailure(again) ? again : (checkAccess(again, operation, false) ?? again);
        }),
      );
      const refused =
        checkAccess(actor, operation, false) ??
        readOnlyFailure(operation, actor, configFile()) ??
        admit(admissionOf(operation, actor), request, reply);
      return refused === undefined ? undefined : sendFailure(request, reply, refused);
    },
    handler: async (request, reply) => {
      const actor = actors.get(request) ?? ANONYMOUS;
      const budget = budgetOf.get(request) ?? newBudget();
      budget.party = { actor: actor.id, app: paramOf(request, 'app_id') ?? '' };
      const work = (): Promise<Answer | Failure> =>
        run(operation, request, actor, addressOf(request), lastingCalls.get(request));
      const result = await withPlace(request, () => withBudget(budget, work));
      const revokedId =
        operation.operationId === 'deleteAdminToken' ? paramOf(request, 'admin_token_id') : undefined;
      if (revokedId !== undefined && !isFailure(result)) revoke(revokedId);
      if (isFailure(result)) return sendFailure(request, reply, result);
      return sendAnswer(budget.usesCopy === true ? reply.header(STALE_HEADER, 'true') : reply, result);
    },
  });
}

/** Dry runs of viewers, who may not write: they must not delay callers who may. */
const VIEWER_TRIALS_MAX = 4;
const viewerTrials = new Admission(VIEWER_TRIALS_MAX);

function admissionOf(operation: Operation, { role }: Actor): Admission | undefined {
  const { admission, viewerAdmission = admission, isWrite } = operation;
  if (role !== 'viewer') return admission;
  return isWrite === true ? viewerTrials : viewerAdmission;
}

/** The place that a call has in its operation's admission, until its handler takes it over. */
const places = new WeakMap<FastifyRequest, Leave>();

function admit(
  admission: Admission | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Failure | undefined {
  if (admission === undefined) return undefined;
  // The client has disconnected while its credential was checked: its body will never arrive.
  if (reply.raw.closed) return fail('bad_request', 'The client has closed the connection');
  const leave = admission.enter();
  if (typeof leave !== 'function') return leave;
  places.set(request, leave);
  // A call whose body never arrives, or is refused, has no handler to end.
  reply.raw.once('close', () => places.get(request)?.());
  return undefined;
}

/** Keeps the place of a call until its work has ended, also when the client has gone. */
async function withPlace<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
  const leave = places.get(request);
  places.delete(request);
  try {
    return await work();
  } finally {
    leave?.();
  }
}

function paramOf(request: FastifyRequest, name: string): string | undefined {
  return (request.params as Record<string, string>)[name];
}

/** The client's, for records and counts: it grants nothing. */
export function addressOf(
  { socket, headers }: FastifyRequest,
  isTrusted: (address: string) => boolean,
): string {
  // Trust in `unix` is in the proxies of the socket for traffic.
  if (isUnixClient(socket)) return UNIX_PEER;
  const forwarded = headers['x-forwarded-for'];
  const list = Array.isArray(forwarded) ? forwarded.join(', ') : forwarded;
  return clientAddress(socket.remoteAddress ?? 'unknown', list, isTrusted);
}

async function run(
  operation: Operation,
  request: FastifyRequest,
  actor: Actor,
  address: string,
  lasting: LastingCall | undefined,
): Promise<Answer | Failure> {
  const query = parseQuery(request.query as Record<string, unknown>, operation.query);
  if (isFailure(query)) return query;
  const note = operation.isWrite === true ? readWriteNote(request.headers) : NO_NOTE;
  if (isFailure(note)) return note;
  const { body } = request;
  const wrong = operation.body === undefined ? undefined : checkBody(operation.body, body);
  if (wrong !== undefined) return failureWith(wrong, body);
  const answer = await operation.handle({
    params: request.params as Record<string, string>,
    query,
    body,
    actor,
    address,
    requestId: request.id,
    headers: request.headers,
    ...note,
    ifMatch: request.headers['if-match'],
    ifNoneMatch: request.headers['if-none-match'],
    ...(lasting !== undefined && { lasting }),
  });
  return isFailure(answer) ? failureWith(answer, body) : answer;
}
