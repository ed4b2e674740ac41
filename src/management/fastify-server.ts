/**
 * Fastify as the management API uses it: limits, the log line of each request, the reader of bodies, and the answers
 * for paths without an operation.
 */
import type { IncomingMessage } from 'node:http';
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { requestIds } from '../lib/ids.ts';
import { toMicroseconds } from '../lib/clock.ts';
import { isHostAndPort } from '../http/fields/host.ts';
import { NO_RENEGOTIATION } from '../lib/listeners.ts';
import { StorageUnavailable } from '../storage/storage-errors.ts';
import { methodTable } from './api/allowed-methods.ts';
import { BODY_BYTES_MAX, readBody } from './api/body.ts';
import { fail, isFailure } from './api/failure.ts';
import { API_PREFIX, JSON_TYPE, MERGE_PATCH_TYPE, type Operation } from './api/operation.ts';
import { failureOf, NO_PAGE, refuseConnection, RequestFailure, sendFailure } from './api/send.ts';
import type { ConsoleFiles } from './console/console-files.ts';
import { isConsoleRequest, sendConsole } from './console/console-pages.ts';
import type { CertificateTexts } from './listening.ts';
import type { Actors } from './serve-operation.ts';
import { keepRoom } from './connection-room.ts';
import { HEAD_BYTES_MAX, isUnixClient } from './management-socket.ts';

const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 72_000;

/** Called every few seconds by machines; logged at `info` only when the answer is not 200. */
const PROBED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics', `${API_PREFIX}/health`]);

/**
 * Operations check their bodies themselves (api/body.ts), and no route has a schema: Fastify would still load its
 * compilers, which takes a good part of the start.
 */
const noCompiler = (): never => {
  throw new Error('A route has a schema, but Fastify has no compiler for it');
};
const NO_COMPILERS = { buildValidator: () => noCompiler, buildSerializer: () => noCompiler };

/** Why the database was unavailable to a call, for its log line. */
const outages = new WeakMap<FastifyRequest, string>();

export function createFastify(
  logger: FastifyBaseLogger,
  actors: Actors,
  tls: CertificateTexts | undefined,
): FastifyInstance {
  const nextRequestId = requestIds();
  const listener = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    maxHeaderSize: HEAD_BYTES_MAX,
    connectionsCheckingInterval: 5_000,
    // Node's own refusal is not a problem document.
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
      : {
          https: {
            ...listener,
            ...tls,
            secureOptions: NO_RENEGOTIATION,
            handshakeTimeout: HEADERS_TIMEOUT_MS,
          },
        }),
    schemaController: { compilersFactory: NO_COMPILERS },
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, nextRequestId()),
    frameworkErrors: (error, request, reply) => {
      void sendFailure(request, nameExchange(request, reply), failureOf(error));
    },
  });
  keepRoom(server.server);
  server.addHook('onRequest', async (request, reply) => {
    nameExchange(request, reply);
    const { headers } = request.raw;
    const problem = headProblem(request.raw);
    if (problem !== undefined) return sendFailure(request, reply, fail('bad_request', problem));
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
      ms: toMicroseconds(reply.elapsedTime),
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

/**
 * Why a head that Node.js could parse is refused (RFC 9112 sections 2.3 and 3.2). Clients of the Unix socket have no
 * host to name, and send different things.
 */
function headProblem({ headersDistinct, httpVersion, socket }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return 'The first line of the request must end with HTTP/1.1 or HTTP/1.0';
  const hosts = headersDistinct['host'] ?? [];
  if (hosts.length > 1) return 'A request must not have several Host fields';
  const [host] = hosts;
  if (host === undefined) return httpVersion === '1.1' ? 'An HTTP/1.1 request needs a Host field' : undefined;
  return isHostAndPort(host) || isUnixClient(socket) ? undefined : 'The Host field is not valid';
}

/** Headers of every answer, errors included. Pages replace the policy here with their own. */
function nameExchange(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.headers({ 'X-Request-Id': request.id, ...NO_PAGE });
}

export function addBodyReader(server: FastifyInstance): void {
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

export function addErrorPages(
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
    if (allow === '') return sendFailure(request, reply, fail('not_found', nothingAt(path)));
    const detail = `${request.method} is not available here, only ${allow}`;
    return sendFailure(request, reply, {
      ...fail('management_method_not_allowed', detail),
      headers: { Allow: allow },
    });
  });
}

function nothingAt(path: string): string {
  const hint = path.startsWith('/api/v1/')
    ? '/api/v1/openapi.json lists all calls'
    : 'the calls of the management API begin with "/api/v1/"';
  return `There is nothing at "${path}"; ${hint}`;
}
