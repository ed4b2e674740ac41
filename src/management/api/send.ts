/**
 * Sends answers and failures, and turns whatever Fastify or a handler throws into a problem document (RFC 9457).
 * Nothing of an unexpected error is shown to the client; it is in the log, under the request id of the answer.
 */
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedSocketOf, PLAIN_HTTP_SENTENCE, plainHttpSocket } from '../../lib/listeners.ts';
import { STATUS_CODES } from '../../lib/node-http.ts';
import { errorRow } from '../../policy/error-table.ts';
import { problemDocument, type ErrorCode } from '../../model/errors.ts';
import { OutcomeUnknown, StorageUnavailable } from '../../storage/storage-errors.ts';
import { BODY_BYTES_MAX } from './body.ts';
import { fail, type Answer, type Failure } from './failure.ts';

/**
 * Headers of every answer that is not one of our pages: a browser that opens it runs no script in it, shows it in no
 * frame, and does not guess another type than the declared one.
 */
export const NO_PAGE = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

/** Carries a failure through Fastify code that only knows errors. */
export class RequestFailure extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = failure;
  }
}

export function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status).header('Cache-Control', 'no-store').headers(answer.headers);
  if (answer.cookies !== undefined) reply.header('Set-Cookie', answer.cookies);
  const { body } = answer;
  if (body === undefined) return reply.send();
  if (typeof body === 'string' || body instanceof Uint8Array || body instanceof Readable)
    return reply.send(body);
  return reply.type('application/json; charset=utf-8').send(Buffer.from(JSON.stringify(body)));
}

/** As bytes: Fastify adds a charset to strings, and application/problem+json has none. */
export function sendFailure(request: FastifyRequest, reply: FastifyReply, failure: Failure): FastifyReply {
  const instance = request.url.split('?', 1)[0] ?? '';
  const { failure: code, detail, errors } = failure;
  const document = problemDocument(code, errorRow(code), detail, instance, request.id, errors);
  return reply
    .code(document.status)
    .header('Cache-Control', 'no-store')
    .headers(failure.headers ?? {})
    .type('application/problem+json')
    .send(Buffer.from(JSON.stringify(document)));
}

/** The failure for a thrown value. @param bodyBytesMax limit of the operation that was called */
export function failureOf(error: unknown, bodyBytesMax = BODY_BYTES_MAX): Failure {
  if (error instanceof RequestFailure) return error.failure;
  if (error instanceof OutcomeUnknown) {
    return fail(
      'storage_unavailable',
      'The database did not answer when the change was to be stored, so it may have been stored; read before you write again',
    );
  }
  if (error instanceof StorageUnavailable) {
    // The reason in the error contains no path and no host.
    const what = error.reason === undefined ? 'does not answer' : `cannot be used: ${error.reason}`;
    return fail(
      'storage_unavailable',
      `The database ${what}; the proxy keeps serving with its present configuration`,
    );
  }
  switch (errorCode(error)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return fail('payload_too_large', `The body is larger than ${bodyBytesMax / 1_048_576} MiB`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return fail('unsupported_media_type', 'The Content-Type must be application/json');
    // Of the explorer's files: a name that no file can have, such as one with NUL or of thousands of characters.
    case 'FST_STATIC_FORBIDDEN_PATH':
      return fail('not_found', 'There is no file with this name');
    default:
      return (
        clientMistake(error) ?? fail('internal_error', 'An unexpected error was logged under this request id')
      );
  }
}

/** Errors of Fastify itself, such as a path with a broken percent-encoding. Their texts contain no internals. */
function clientMistake(error: unknown): Failure | undefined {
  if (!(error instanceof Error) || !errorCode(error).startsWith('FST_ERR_')) return undefined;
  const isRefusal =
    'statusCode' in error && Number(error.statusCode) >= 400 && Number(error.statusCode) < 500;
  return isRefusal ? fail('bad_request', error.message) : undefined;
}

/** Answers bytes that Node could not parse as HTTP or as TLS, and closes the connection. */
export function refuseConnection(error: unknown, client: Socket, requestId: string): void {
  const plain = plainHttpSocket(error, acceptedSocketOf(client));
  const socket = plain ?? client;
  if (errorCode(error) === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  plain?.on('error', () => plain.destroy());
  const code = unreadable(errorCode(error));
  const row = errorRow(code);
  const { status, title } = row;
  const body = JSON.stringify(
    problemDocument(code, row, plain === undefined ? title : PLAIN_HTTP_SENTENCE, '', requestId),
  );
  const fields = Object.entries(NO_PAGE).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nX-Request-Id: ${requestId}\r\n${fields.join('')}` +
      'Cache-Control: no-store\r\nContent-Type: application/problem+json\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function unreadable(code: string): ErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'header_too_large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'bad_request';
}

function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return String(error.code);
}
