/**
 * Calls of the management API of a running gateway, for commands. A refusal becomes a `CliError` with all its
 * details.
 */
import type { IncomingMessage } from 'node:http';
import type { FieldError } from '../model/errors.ts';
import {
  resolveConnection,
  socketPathOf,
  type Connection,
  type ServerFlags,
} from './connection/server-flags.ts';
import { readText, send, type Transport } from './connection/transport.ts';
import { CliError, printable, type CliIo } from './io.ts';
import { isObject } from '../lib/is-object.ts';
import { refusalText } from './show/field-errors.ts';

export type { ServerFlags } from './connection/server-flags.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A warning of the gateway, in its own words. */
export interface ShownWarning {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** The envelope of a successful answer. */
export interface GatewayAnswer {
  readonly status: number;
  readonly message: string;
  /** The whole answer where it has no envelope, as the OpenAPI document. */
  readonly data: unknown;
  /** Present when the answer is a list. */
  readonly page: PageInfo | undefined;
  readonly warnings: readonly ShownWarning[];
}

interface PageInfo {
  readonly next_cursor: string | null;
  readonly total: number;
}

export interface GatewayClient {
  readonly server: string;
  /** @param path below `/api/v1` @returns `data` of the answer */
  call(method: Method, path: string, body?: unknown): Promise<unknown>;
  /** Returns the whole envelope. @throws RefusedCall */
  ask(method: Method, path: string, body?: unknown): Promise<GatewayAnswer>;
  /** Like `ask`, but 503 is an answer: that of a probe of an unhealthy gateway. @param path from the root */
  probe(path: string): Promise<GatewayAnswer>;
  /** Returns plain text. @param path from the root */
  text(path: string): Promise<string>;
  /**
   * Returns the answer with an unread body; its end closes the connection.
   * @param path below `/api/v1`
   * @param post sent with POST instead of GET; the answer may take this much longer than usual
   */
  open(
    path: string,
    headers?: Readonly<Record<string, string>>,
    post?: { readonly body: unknown; readonly extraMs: number },
  ): Promise<{ readonly body: IncomingMessage; readonly broken: (error: unknown) => CliError }>;
}

/** The gateway refused a call. The message has all field errors, so that a command need not handle them. */
export class RefusedCall extends CliError {
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  /** Of src/model/errors.ts; undefined if the answer has none. */
  readonly code: string | undefined;
  constructor(
    status: number,
    detail: string,
    { errors = [], code }: { readonly errors?: readonly FieldError[]; readonly code?: string } = {},
  ) {
    super(refusalText({ detail, errors }));
    this.status = status;
    this.detail = detail;
    this.errors = errors;
    this.code = code;
  }
}

/** Limit of an answer in memory: a dump of some 500,000 endpoints. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** The note that the history of the configuration stores with a write. */
export interface WriteNote {
  readonly source: 'cli' | 'import';
  /** Git commit. */
  readonly commit?: string | undefined;
}

/** @param access `public` for calls that need no token @throws CliError when no call is possible */
export function createClient(
  flags: ServerFlags,
  io: CliIo,
  access: 'public' | 'authenticated' = 'authenticated',
  note: WriteNote = { source: 'cli' },
): GatewayClient {
  const connection = resolveConnection(flags, io);
  const { server } = connection;
  if (connection.token === undefined && access === 'authenticated') {
    throw new CliError(
      `An admin token for ${server} is needed: set HEADGATE_TOKEN, pass --token-file, or store it with "headgate context add"`,
    );
  }
  const exchange = async (method: Method, path: string, body: unknown) => {
    const transport = transportOf(connection, note, method, path, body);
    const response = await send({ ...transport, totalMs: connection.timeoutMs });
    const text = await readText(response, transport, ANSWER_BYTES_MAX);
    return { response, text };
  };
  const ask: GatewayClient['ask'] = async (method, path, body) => {
    const { response, text } = await exchange(method, `/api/v1${path}`, body);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw refusalOf(connection, response, text, `${method} ${path}`);
    return status === 204 ? answerOf(204, {}) : answerOf(status, parsed(server, response, text));
  };
  return {
    server,
    ask,
    call: async (method, path, body) => (await ask(method, path, body)).data,
    async probe(path) {
      const { response, text } = await exchange('GET', path, undefined);
      const value = parsed(server, response, text);
      // A refusal is a problem document, which has a message as well.
      if (!('message' in value) || !isObject(value['data']))
        throw refusalOf(connection, response, text, `GET ${path}`);
      return answerOf(response.statusCode ?? 0, value);
    },
    async text(path) {
      const { response, text } = await exchange('GET', path, undefined);
      if (response.statusCode !== 200) throw refusalOf(connection, response, text, `GET ${path}`);
      return text;
    },
    async open(path, headers, post) {
      const method = post === undefined ? 'GET' : 'POST';
      const plain = transportOf(connection, note, method, `/api/v1${path}`, post?.body);
      const silenceMs = plain.silenceMs + (post?.extraMs ?? 0);
      const transport = { ...plain, silenceMs, headers: { ...plain.headers, ...headers } };
      const body = await send(transport);
      if (body.statusCode !== 200) {
        throw refusalOf(
          connection,
          body,
          await readText(body, transport, ANSWER_BYTES_MAX),
          `${method} ${path}`,
        );
      }
      return { body, broken: (error) => brokenDownload(server, error) };
    },
  };
}

function transportOf(
  { server, token, ca, timeoutMs }: Connection,
  { source, commit }: WriteNote,
  method: Method,
  path: string,
  body: unknown,
): Transport {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const socketPath = socketPathOf(server);
  return {
    method,
    server,
    url: new URL((socketPath === undefined ? server : 'http://localhost') + path),
    ...(socketPath !== undefined && { socketPath }),
    ca,
    silenceMs: timeoutMs,
    headers: {
      Accept: 'application/json',
      ...(method !== 'GET' && {
        'Headgate-Source': commit === undefined ? source : `${source}; commit=${commit}`,
      }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(text !== undefined && {
        'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        'Content-Length': String(Buffer.byteLength(text)),
      }),
    },
    ...(text !== undefined && { body: text }),
  };
}

function answerOf(status: number, value: Readonly<Record<string, unknown>>): GatewayAnswer {
  const {
    message,
    data = message === undefined && status !== 204 ? value : undefined,
    page,
    warnings,
  } = value;
  return {
    status,
    message: typeof message === 'string' ? message : '',
    data,
    page: page as PageInfo | undefined,
    warnings: Array.isArray(warnings) ? warnings.filter(isWarning) : [],
  };
}

function isWarning(value: unknown): value is ShownWarning {
  return hasTexts(value, 'pointer', 'code', 'detail');
}

function isFieldError(value: unknown): value is FieldError {
  return hasTexts(value, 'pointer', 'detail');
}

function hasTexts(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  return names.every((name) => typeof fields[name] === 'string');
}

function refusalOf(
  { server, tokenFrom }: Connection,
  response: IncomingMessage,
  text: string,
  call: string,
): RefusedCall {
  const { statusCode: status = 0 } = response;
  const value = parse(text);
  const detail = value?.['detail'];
  if (value === undefined) return new RefusedCall(status, notGateway(server, response));
  const { errors: given } = value;
  const fieldErrors = Array.isArray(given) ? given.filter(isFieldError) : [];
  // Without further members, which could be taken for a place in a file.
  const errors = fieldErrors.map((error) => ({ pointer: error.pointer, detail: error.detail }));
  const code = typeof value['code'] === 'string' ? value['code'] : '';
  if (code === 'no_route') {
    const message = `${server} is a port for client traffic; expected the address of the management API in --server`;
    return new RefusedCall(status, message, { code });
  }
  const known = typeof detail === 'string' ? detail : `${call} was answered with ${status}`;
  const isToken = code === 'unauthenticated' && tokenFrom !== undefined;
  const from = isToken ? `; the token is from ${printable(tokenFrom)}` : '';
  return new RefusedCall(status, known + from, { errors, code });
}

function parsed(server: string, response: IncomingMessage, text: string): Readonly<Record<string, unknown>> {
  const value = parse(text);
  if (value === undefined) throw new CliError(notGateway(server, response));
  return value;
}

/** The answer came from another server, or from a proxy in between. */
function notGateway(server: string, { statusCode, headers }: IncomingMessage): string {
  const type = printable((headers['content-type'] ?? 'no type').split(';', 1)[0] ?? '');
  return `${server} does not answer as the management API of Headgate does (${statusCode}, ${type}); expected its address in --server`;
}

function brokenDownload(server: string, error: unknown): CliError {
  const { code } = error as { readonly code?: unknown };
  return new CliError(
    `The answer of ${server} broke off (${typeof code === 'string' ? code : 'no reason given'})`,
  );
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
