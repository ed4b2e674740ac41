/**
 * The management API on Fastify: listens, authenticates, reads bodies and queries, and runs the operations. Owns the
 * listener. Which operations there are is in operations.ts; how a write is done in write.ts.
 *
 * Fastify's own validation and serialisation are not used: a PATCH must be checked after it has been merged, inside
 * of the transaction, and every error must name its field by a pointer.
 */
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { newBudget, withBudget, type DeadlineBudget } from '../lib/deadline-budget.ts';
import { requestIds } from '../lib/ids.ts';
import { StorageUnavailable, type ConfigReader } from '../storage/repository.ts';
import { createAccess, type ApiAccess } from './access/api-access.ts';
import type { Actor } from './access/admin-auth.ts';
import { checkAccess } from './access/dry-run-role.ts';
import { lastingCall, type LastingCall } from './access/lasting-call.ts';
import { clientAddress } from '../http/fields/forwarded.ts';
import { Admission, type Leave } from './api/admission.ts';
import { methodTable } from './api/allowed-methods.ts';
import { BODY_BYTES_MAX, checkBody, readBody } from './api/body.ts';
import type { ConsoleFiles } from './console/console-files.ts';
import { isConsoleRequest, sendConsole } from './console/console-pages.ts';
import type { ManagementContext, ManagementStatus, NodesAccess, ShadowReports } from './context.ts';
import type { EgressCheck } from './write/rule-context.ts';
import { EventFeed } from './routes/events/event-feed.ts';
import { DatabaseCheck } from './database-check.ts';
import { createChangePath } from './write/dry-run.ts';
import type { ConfigTrials, ExplainAccess } from '../explain/access.ts';
import type { LiveHub } from '../explain/live/live-hub.ts';
import { fail, isFailure, type Answer, type Failure } from './api/failure.ts';
import {
  managementListening,
  type CertificateTexts,
  type LastingStreams,
  type ManagementListening,
} from './listening.ts';
import { openApiDocument, type JsonObject } from './api/openapi.ts';
import { API_PREFIX, JSON_TYPE, MERGE_PATCH_TYPE, type Operation } from './api/operation.ts';
import { allOperations } from './operations.ts';
import { NO_QUERY, parseQuery } from './api/query.ts';
import { readingThroughOutages, STALE_HEADER } from './crud/reading.ts';
import { failureOf, refuseConnection, RequestFailure, sendAnswer, sendFailure } from './api/send.ts';
import { readOnlyFailure } from './access/read-only.ts';
import type { OidcSettings } from './sessions/oidc/oidc-client.ts';
import { addOidcRoutes } from './sessions/oidc/oidc-routes.ts';
import type { SessionSettings } from './sessions/sessions.ts';
import { createWritePath, type WriteDependencies, type WritePath } from './write/write.ts';
import { NO_NOTE, readWriteNote } from './write/write-note.ts';

const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 72_000;
const HEAD_BYTES_MAX = 16_384;
const CONNECTIONS_MAX = 1_024;
/** How long `close` waits for running requests before it cuts them off. */
const CLOSE_GRACE_MS = 5_000;

/** Called every few seconds by machines; logged at `info` only when the answer is not 200. */
const PROBED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics', `${API_PREFIX}/health`]);

export interface ManagementDependencies extends WriteDependencies {
  /** GATEWAY_ADMIN_TOKEN. */
  readonly adminToken: string | undefined;
  /** Wrong admin tokens per minute and client address; 0: any number. */
  readonly authFailuresPerMinute: number;
  /** Hears the address of each wrong admin token. */
  readonly onRefusedLogin?: (address: string) => void;
  /** Of browsers that sign in. */
  readonly sessions: SessionSettings;
  /** With which browsers may sign in. */
  readonly oidc?: OidcSettings | undefined;
  /** Proxies whose X-Forwarded-For is believed, for the audit log and for slowing down guesses. */
  readonly isTrustedProxy: (address: string) => boolean;
  /** PEM texts of the chain and its key; absent: plain HTTP. */
  readonly tls?: CertificateTexts | undefined;
  readonly swaggerEnabled: boolean;
  /** The built console; absent: there is none. */
  readonly console?: ConsoleFiles | undefined;
  /** Global rate limit of the settings; fills in what a policy leaves out. */
  readonly policyGlobals: ManagementContext['policyGlobals'];
  readonly egress: EgressCheck;
  /** Of the settings, for JWT policies that leave something out. */
  readonly jwtDefaults: ManagementContext['jwtDefaults'];
  /** The workers' configuration, for reads while the database is unavailable; absent: such reads fail. */
  readonly copy?: ConfigReader;
  readonly status: ManagementStatus;
  readonly nodes: NodesAccess;
  readonly shadow: ShadowReports;
  readonly explain: ExplainAccess;
  readonly live: LiveHub;
  /** Sends a test event to a webhook. */
  readonly testWebhook: ManagementContext['webhooks']['test'];
  /** Ended when the gateway stops. */
  readonly profiles: ManagementContext['profiles'] & LastingStreams;
  readonly trials: ConfigTrials;
  readonly convertDescription: ManagementContext['convertDescription'];
  readonly settings: ManagementContext['settings'];
  readonly served: ManagementContext['served'];
  readonly ownListener: ManagementContext['ownListener'];
  /** Prometheus text format. */
  readonly metricsText: () => Promise<string>;
  readonly logger: FastifyBaseLogger;
  /** Of Headgate, for the OpenAPI document. */
  readonly version: string;
  /** For tests; milliseconds. */
  readonly closeGraceMs?: number;
}

/** A configuration from files is in memory: a long change of it makes others wait, and is no outage. */
const IN_MEMORY = { ping: async () => undefined, pingWrite: async () => undefined };

export async function createManagementServer(
  dependencies: ManagementDependencies,
): Promise<ManagementListening> {
  const { repository, clock, logger } = dependencies;
  const isFallback = dependencies.status.fallback() !== undefined;
  const checked = dependencies.status.configFile() === undefined ? repository : IN_MEMORY;
  const database = new DatabaseCheck(checked, clock, logger, isFallback);
  const write = watchedWrites(createWritePath(dependencies), database);
  const access = createAccess({ ...dependencies, isSecure: dependencies.tls !== undefined, write });
  const context: ManagementContext = { ...contextOf(dependencies, write, database), signIn: access.signIn };
  const operations = allOperations(context);
  const documented = openApiOperation(operations, dependencies.version);
  const all = [...operations, documented.operation];

  const actors: Actors = new WeakMap();
  const server = createFastify(logger, actors, dependencies.tls);
  const listening = managementListening(server, dependencies.closeGraceMs ?? CLOSE_GRACE_MS, [
    dependencies.live,
    context.eventFeed,
    dependencies.profiles,
  ]);
  addBodyReader(server);
  addErrorPages(server, all, dependencies.console);
  server.addHook('onClose', async () => {
    database.stop();
    access.close();
  });
  const adminAccess: AdminAccess = {
    ...access,
    addressOf: (request) => addressOf(request, dependencies.isTrustedProxy),
    actors,
    configFile: () => dependencies.status.configFile(),
  };
  for (const operation of all) serve(server, operation, adminAccess);
  const { oidc } = dependencies;
  if (oidc !== undefined) {
    addOidcRoutes(server, { settings: oidc, clock, ...access.signIn, addressOf: adminAccess.addressOf });
  }
  if (dependencies.swaggerEnabled) {
    // Loaded only when enabled: it makes a start noticeably longer.
    const { addSwaggerUi } = await import('./api/swagger-ui.ts');
    await addSwaggerUi(server, documented.document());
  }
  database.start();
  await server.ready();
  return listening;
}

function contextOf(
  dependencies: ManagementDependencies,
  write: WritePath,
  database: DatabaseCheck,
): Omit<ManagementContext, 'signIn'> {
  const { repository } = dependencies;
  return {
    repository:
      dependencies.copy === undefined ? repository : readingThroughOutages(repository, dependencies.copy),
    backups: { repository, programVersion: dependencies.version },
    database,
    nodes: dependencies.nodes,
    write,
    change: createChangePath(write, () => dependencies.clock.nowMs()),
    clock: dependencies.clock,
    policyGlobals: dependencies.policyGlobals,
    egress: dependencies.egress,
    jwtDefaults: dependencies.jwtDefaults,
    status: dependencies.status,
    shadow: dependencies.shadow,
    explain: dependencies.explain,
    live: dependencies.live,
    events: () => repository.events,
    webhooks: {
      states: async () => repository.deliveries.states(),
      test: dependencies.testWebhook,
    },
    eventFeed: new EventFeed(repository),
    profiles: dependencies.profiles,
    trials: dependencies.trials,
    convertDescription: dependencies.convertDescription,
    settings: dependencies.settings,
    served: dependencies.served,
    ownListener: dependencies.ownListener,
    metricsText: dependencies.metricsText,
    hasEnvironmentToken: dependencies.adminToken !== undefined,
  };
}

/** The caller of public operations. */
const ANONYMOUS: Actor = { id: 'anonymous', name: 'anonymous', role: 'viewer' };

/** The authenticated caller of each request. */
type Actors = WeakMap<FastifyRequest, Actor>;

interface AdminAccess extends Pick<ApiAccess, 'authenticate' | 'revoke'> {
  readonly addressOf: (request: FastifyRequest) => string;
  readonly actors: Actors;
  readonly configFile: ManagementStatus['configFile'];
}

/** Why the database was not available to a call, for its log line. */
const outages = new WeakMap<FastifyRequest, string>();

function createFastify(
  logger: FastifyBaseLogger,
  actors: Actors,
  tls: ManagementDependencies['tls'],
): FastifyInstance {
  const nextRequestId = requestIds();
  const listener = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    maxHeaderSize: HEAD_BYTES_MAX,
    connectionsCheckingInterval: 5_000,
    // Node's own refusal is no problem document.
    requireHostHeader: false,
  };
  const server = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: nextRequestId,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEPALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    ...(tls === undefined
      ? { http: listener }
      : { https: { ...listener, ...tls, handshakeTimeout: HEADERS_TIMEOUT_MS } }),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, nextRequestId()),
    frameworkErrors: (error, request, reply) => {
      void sendFailure(request, nameExchange(request, reply), failureOf(error));
    },
  });
  server.server.maxConnections = CONNECTIONS_MAX;
  server.addHook('onRequest', async (request, reply) => {
    nameExchange(request, reply);
    const { headers, httpVersion } = request.raw;
    // RFC 9112 section 3.2.
    if (headers.host === undefined && httpVersion === '1.1') {
      return sendFailure(request, reply, fail('bad_request', 'An HTTP/1.1 request needs a Host field'));
    }
    // Without a body its type does not matter: some clients send Content-Type with every POST.
    const { 'content-length': length = '0', 'transfer-encoding': coding } = headers;
    if (length === '0' && coding === undefined) delete headers['content-type'];
    return undefined;
  });
  server.addHook('onResponse', async (request, reply) => {
    const line = {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 1000) / 1000,
      actor: actors.get(request)?.id,
      reason: outages.get(request),
    };
    if (line.reason !== undefined) request.log.warn(line, 'management request');
    else if (isConsoleRequest(request) || (PROBED.has(line.route) && reply.statusCode === 200))
      request.log.debug(line, 'management request');
    else request.log.info(line, 'management request');
  });
  return server;
}

function nameExchange(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.header('X-Request-Id', request.id).header('X-Content-Type-Options', 'nosniff');
}

function addBodyReader(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    [JSON_TYPE, MERGE_PATCH_TYPE],
    { parseAs: 'buffer' },
    (request, body: Buffer, done) => {
      const read = readBody(body, request.headers, request.method);
      if (isFailure(read)) done(new RequestFailure(read));
      else done(null, read.value);
    },
  );
}

function addErrorPages(
  server: FastifyInstance,
  operations: readonly Operation[],
  console: ConsoleFiles | undefined,
): void {
  const methodsOf = methodTable(operations);
  server.setErrorHandler((error, request, reply) => {
    const failure = failureOf(error, request.routeOptions.bodyLimit);
    if (failure.failure === 'internal_error') request.log.error({ err: error }, 'management request failed');
    if (error instanceof StorageUnavailable) outages.set(request, error.message);
    return sendFailure(request, reply, failure);
  });
  server.setNotFoundHandler((request, reply) => {
    const page = console && sendConsole(console, request, reply);
    if (page !== undefined) return page;
    const path = request.url.split('?', 1)[0] ?? '';
    const allow = methodsOf(path).join(', ');
    if (allow === '') return sendFailure(request, reply, fail('not_found', `There is nothing at "${path}"`));
    const detail = `${request.method} is not available here, only ${allow}`;
    return sendFailure(request, reply, {
      ...fail('management_method_not_allowed', detail),
      headers: { Allow: allow },
    });
  });
}

function serve(
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
      const work = (): Promise<Answer | Failure> =>
        run(operation, request, actor, addressOf(request), lastingCalls.get(request));
      const result = await withPlace(request, () => withBudget(budget, work));
      const revokedId = operation.operationId === 'deleteAdminToken' ? idIn(request) : undefined;
      if (revokedId !== undefined && !isFailure(result)) revoke(revokedId);
      if (isFailure(result)) return sendFailure(request, reply, result);
      return sendAnswer(budget.usesCopy === true ? reply.header(STALE_HEADER, 'true') : reply, result);
    },
  });
}

/** Dry runs of viewers, who may not write: they must not keep those waiting who may. */
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
  const leave = admission?.enter();
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

/** A write that the database refuses is a reason to look at it. */
function watchedWrites(write: WritePath, database: DatabaseCheck): WritePath {
  return async (...call) => {
    try {
      const result = await write(...call);
      if (!isFailure(result)) database.wrote();
      return result;
    } catch (error) {
      if (error instanceof StorageUnavailable) database.suspect();
      throw error;
    }
  };
}

function idIn(request: FastifyRequest): string | undefined {
  return (request.params as Record<string, string>)['admin_token_id'];
}

/** The client's, for records and counts: it grants nothing. */
function addressOf({ socket, headers }: FastifyRequest, isTrusted: (address: string) => boolean): string {
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
  if (wrong !== undefined) return wrong;
  return operation.handle({
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
}

/** The document also describes its own operation. It is made when it is first asked for: a start does not wait for it. */
function openApiOperation(
  operations: readonly Operation[],
  version: string,
): { readonly operation: Operation; readonly document: () => JsonObject } {
  let text: string | undefined;
  const operation: Operation = {
    method: 'GET',
    path: `${API_PREFIX}/openapi.json`,
    operationId: 'getOpenApi',
    tag: 'Service',
    summary: 'This document',
    access: 'public',
    query: NO_QUERY,
    entityTag: false,
    success: { status: 200, description: 'An OpenAPI 3.1 document', schema: { type: 'object' } },
    failures: [],
    handle: async () => {
      text ??= JSON.stringify(document());
      return { status: 200, headers: { 'Content-Type': JSON_TYPE }, body: text };
    },
  };
  const document = (): JsonObject => openApiDocument([...operations, operation], version);
  return { operation, document };
}
