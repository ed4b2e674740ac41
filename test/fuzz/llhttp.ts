/**
 * llhttp, the parser of node:http, driven in process and in its strict mode: what it makes of the bytes of one
 * message. Node's binding to it is not documented, but it is what node:http itself stands on.
 */
import { createRequire } from 'node:module';

type Parser = {
  [callback: number]: (...parameters: never[]) => unknown;
  initialize(type: number, resource: object, headerBytesMax: number, lenientFlags: number): void;
  execute(bytes: Buffer): number | Error;
  finish(): Error | undefined;
  /** Lets go of its memory, which no collection of garbage does. */
  close(): void;
};

const { HTTPParser, methods } = createRequire(import.meta.url)('_http_common') as {
  HTTPParser: (new () => Parser) &
    Record<
      | 'REQUEST'
      | 'RESPONSE'
      | 'kLenientNone'
      | 'kOnMessageBegin'
      | 'kOnHeaders'
      | 'kOnHeadersComplete'
      | 'kOnBody'
      | 'kOnMessageComplete',
      number
    >;
  methods: readonly string[];
};

/** The methods that it knows; it refuses all others. */
export const llhttpMethods = methods;

const HEADER_BYTES_MAX = 256 * 1024;
/** What onHeadersComplete returns to say that no body follows; for HEAD, which a response does not tell itself. */
const SKIP_BODY = 1;

export type LlhttpMessage = {
  method: string;
  target: string;
  status: number;
  reason: string;
  httpMinor: number;
  /** Names and values by turns, as sent. */
  fields: string[];
  body: string;
  trailers: string[];
  complete: boolean;
};

export type LlhttpResult = {
  /** Interim responses are messages of their own. */
  readonly messages: readonly LlhttpMessage[];
  readonly error: string | undefined;
};

/** What it makes of `bytes` as requests. */
export function llhttpRequests(bytes: Buffer): LlhttpResult {
  return parse(HTTPParser.REQUEST, bytes, () => false, false);
}

/** What it makes of `bytes` as responses to a request of that method, up to the end of the connection if `ended`. */
export function llhttpResponses(bytes: Buffer, requestMethod: string, ended: boolean): LlhttpResult {
  return parse(HTTPParser.RESPONSE, bytes, () => requestMethod === 'HEAD', ended);
}

function parse(type: number, bytes: Buffer, skipsBody: () => boolean, ended: boolean): LlhttpResult {
  const parser = new HTTPParser();
  parser.initialize(type, {}, HEADER_BYTES_MAX, HTTPParser.kLenientNone);
  const messages: LlhttpMessage[] = [];
  let current = emptyMessage();
  let inTrailers = false;
  parser[HTTPParser.kOnMessageBegin] = () => {
    messages.push((current = emptyMessage()));
    inTrailers = false;
  };
  // For every 32 fields, with the target the first time; and once more for trailers.
  parser[HTTPParser.kOnHeaders] = (fields: string[], target: string) => {
    if (inTrailers) return void current.trailers.push(...fields);
    current.fields.push(...fields);
    current.target += target;
  };
  parser[HTTPParser.kOnHeadersComplete] = (
    _major: number,
    minor: number,
    fields: string[] | undefined,
    method: number,
    target: string | undefined,
    status: number,
    reason: string,
  ) => {
    inTrailers = true;
    current.fields.push(...(fields ?? []));
    current.target += target ?? '';
    Object.assign(current, { method: methods[method] ?? '', httpMinor: minor, status, reason });
    return skipsBody() ? SKIP_BODY : 0;
  };
  parser[HTTPParser.kOnBody] = (part: Buffer) => {
    current.body += part.toString('latin1');
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    current.complete = true;
  };
  const result = parser.execute(bytes);
  const failure = typeof result === 'number' ? (ended ? parser.finish() : undefined) : result;
  parser.close();
  const reason = (failure as { reason?: string } | undefined)?.reason;
  return { messages, error: failure === undefined ? undefined : (reason ?? failure.message) };
}

function emptyMessage(): LlhttpMessage {
  return {
    method: '',
    target: '',
    status: 0,
    reason: '',
    httpMinor: -1,
    fields: [],
    body: '',
    trailers: [],
    complete: false,
  };
}
