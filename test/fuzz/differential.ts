/**
 * Differential fuzzer against llhttp, the parser of node:http, driven in process. Whatever the gateway accepts,
 * llhttp must accept as the same message: same method, target, fields and body, ending at the same byte. The
 * reverse does not hold; the gateway is stricter.
 *
 * Left out, because llhttp does it differently by design: methods it does not know, requests that upgrade, after
 * which it hands over the connection, and framing fields among trailers, which it refuses and the gateway drops.
 */
import { createRequire } from 'node:module';
import { RequestReader } from '../conformance/message-reader.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { someChunkedBody, someRequest } from './messages.ts';
import type { Random } from './random.ts';

type Parser = {
  [callback: number]: (...parameters: never[]) => unknown;
  initialize(type: number, resource: object, headerBytesMax: number, lenientFlags: number): void;
  execute(bytes: Buffer): number | Error;
};

/** Node's binding to llhttp; not documented, but what node:http itself stands on. */
const { HTTPParser, methods } = createRequire(import.meta.url)('_http_common') as {
  HTTPParser: (new () => Parser) &
    Record<'REQUEST' | 'kOnHeaders' | 'kOnHeadersComplete' | 'kOnBody' | 'kOnMessageComplete', number>;
  methods: readonly string[];
};

type Parsed = {
  method: string;
  target: string;
  fields: string[];
  body: string;
  complete: boolean;
  error: string | undefined;
};

/** What llhttp makes of `bytes` as one request. */
function parseWithLlhttp(bytes: Buffer): Parsed {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {}, 256 * 1024, 0);
  const parsed: Parsed = { method: '', target: '', fields: [], body: '', complete: false, error: undefined };
  let headersAreComplete = false;
  // Called for every 32 fields, with the target the first time; and again for trailers, which are not compared.
  parser[HTTPParser.kOnHeaders] = (fields: string[], target: string) => {
    if (headersAreComplete) return;
    parsed.fields.push(...fields);
    parsed.target += target;
  };
  parser[HTTPParser.kOnHeadersComplete] = (
    _: number,
    __: number,
    fields: string[] | undefined,
    method: number,
    target?: string,
  ) => {
    headersAreComplete = true;
    parsed.fields.push(...(fields ?? []));
    parsed.method = methods[method] ?? '';
    parsed.target += target ?? '';
    return 0;
  };
  parser[HTTPParser.kOnBody] = (part: Buffer) => {
    parsed.body += part.toString('latin1');
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    parsed.complete = true;
  };
  const result = parser.execute(bytes);
  if (typeof result !== 'number') parsed.error = result.message;
  return parsed;
}

const framingField = /^(content-length|transfer-encoding|connection|upgrade):/im;

function step(random: Random): void {
  let text = someRequest(random);
  if (/transfer-encoding: *chunked/i.test(text) && random.oneIn(2)) {
    text = text.slice(0, text.indexOf('\r\n\r\n') + 4) + someChunkedBody(random);
  }
  const bytes = Buffer.from(text, 'latin1');
  const reader = new RequestReader();
  reader.push(bytes);
  const outcome = reader.result();
  const { head } = reader;
  if (outcome.kind !== 'accept' || !methods.includes(head.method) || head.upgrade !== undefined) return;
  const message = bytes.subarray(0, bytes.length - outcome.rest.length);
  const body = message.toString('latin1', message.indexOf('\r\n\r\n') + 4);
  if (framingField.test(body)) return;
  const parsed = parseWithLlhttp(message);
  const shown = JSON.stringify(message.toString('latin1'));
  check(parsed.error === undefined, `llhttp refuses ${shown}: ${parsed.error}`);
  check(parsed.complete, `llhttp sees no end of ${shown}`);
  checkEqual([parsed.method, parsed.body], [head.method, outcome.body], `llhttp differs on ${shown}`);
  const path = parsed.target.replace(/^https?:\/\/[^/?]*/i, '');
  checkEqual(
    path.startsWith('/') || path === '*' ? path : `/${path}`,
    head.target,
    `llhttp sees another target in ${shown}`,
  );
  const fields = Array.from({ length: head.count }, (_, i) => [head.name(i), head.value(i)]).flat();
  checkEqual(parsed.fields, fields, `llhttp sees other fields in ${shown}`);
  check(!parseWithLlhttp(message.subarray(0, -1)).complete, `llhttp sees an earlier end of ${shown}`);
}

export const differentialFuzzer: Fuzzer = { name: 'differential', step };
