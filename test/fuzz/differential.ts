/**
 * Differential fuzzers against llhttp in its strict mode. Whatever the gateway accepts, llhttp must accept as the same
 * message: same start line, fields, body and trailers, ending at the same byte and not before. The reverse does not
 * hold; the gateway is stricter.
 *
 * Left out, because llhttp does it differently by design: responses that switch protocols, after which it hands over
 * the connection; framing fields among trailers, which it refuses and the gateway drops; white space in chunk
 * extensions, which it refuses (RFC 9112 section 7.1.1 has it); an interim response in HTTP/1.0
 * or with a Connection field, after which llhttp may expect nothing more. A method that it does not know is shown to it
 * as another one.
 */
import { RequestReader, ResponseReader } from '../conformance/message-reader.ts';
import { BodyFraming } from '../../src/http/bodies/framing.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { llhttpMethods, llhttpRequests, llhttpResponses, type LlhttpResult } from './llhttp.ts';
import { someChunkedBody, someFields, someRequest, someResponse } from './messages.ts';
import type { Random } from './random.ts';

/** How many messages of each kind were compared since the process began; see differential.test.ts. */
export const compared = {
  none: 0,
  length: 0,
  chunked: 0,
  'until close': 0,
  values: 0,
  interim: 0,
  upgrade: 0,
  'other method': 0,
};

const framingNames = ['none', 'length', 'chunked', 'until close'] as const;
/** Most of the generated ones are refused. */
const SOUND_REQUESTS = [
  'POST /a?b HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /a?b HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /a HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n',
  'BREW /a HTTP/1.1\r\nHost: a\r\n\r\n',
];
const KNOWN_METHOD = 'POST';
const framingFields = /^(?:content-length|transfer-encoding):[^\n]*\n/gim;
const framingField = /^(content-length|transfer-encoding|connection|upgrade):/im;
const extensionSpace = /\r\n[0-9a-f]{1,16}(?:[ \t]|;[^\r\n]*[ \t])/i;
const interimThatCloses = /^HTTP\/1\.(?:0 1\d\d|1 1\d\d[^\n]*\n(?:[^\r\n]+\r\n)*connection:)/im;

type Read = {
  readonly head: RequestReader['head'] | ResponseReader['head'];
  readonly body: string;
  readonly trailers: string;
};

/**
 * `text` with fields added, now and then with other framing, and mostly with a body of the kind that it announces
 * instead of the one that it has.
 */
function withMore(text: string, random: Random): string {
  const lineEnd = text.indexOf('\r\n') + 2;
  const headEnd = text.indexOf('\r\n\r\n') + 4;
  if (headEnd < 4) return text;
  const framing = random.oneIn(3)
    ? random.pick(['Transfer-Encoding: chunked\r\n', 'content-length:\t7 \r\n'])
    : '';
  const rest = text.slice(lineEnd, headEnd);
  // Most heads that already are framed would be refused with one more framing field.
  const fields = framing === '' || random.oneIn(8) ? rest : rest.replace(framingFields, '');
  const head = text.slice(0, lineEnd) + framing + (random.oneIn(2) ? someFields(random) : '') + fields;
  if (random.oneIn(4)) return head + text.slice(headEnd);
  if (/^transfer-encoding:[ \t]*chunked/im.test(head)) return head + someChunkedBody(random);
  const length = Number(/^content-length:[ \t]*(\d{1,3})[ \t]*\r$/im.exec(head)?.[1] ?? -1);
  if (length < 0) return head + text.slice(headEnd);
  return head + random.repeat(length, () => String.fromCharCode(random.below(256)));
}

function fieldsOf(head: Read['head']): string[] {
  return Array.from({ length: head.count }, (_, index) => [head.name(index), head.value(index)]).flat();
}

function checkMessage(found: LlhttpResult, read: Read, shown: string): void {
  check(found.error === undefined, `llhttp refuses ${shown}: ${found.error}`);
  const last = found.messages.at(-1);
  check(last?.complete === true, `llhttp sees no end of ${shown}`);
  checkEqual(last?.body, read.body, `llhttp sees another body in ${shown}`);
  checkEqual(last?.httpMinor, read.head.httpMinor, `llhttp sees another version in ${shown}`);
  checkEqual(last?.fields, fieldsOf(read.head), `llhttp sees other fields in ${shown}`);
  const trailers = read.trailers.split('\r\n').slice(0, -1);
  const seen = new Set<string>();
  for (let index = 0; index < (last?.trailers.length ?? 0); index += 2)
    seen.add(`${last?.trailers[index]}: ${last?.trailers[index + 1]}`);
  check(
    trailers.every((trailer) => seen.has(trailer)),
    `llhttp does not see the trailers of ${shown}`,
  );
  compared[framingNames[read.head.framing]] += 1;
  if (fieldsOf(read.head).some((text) => /[\t\x80-\xff]/.test(text))) compared.values += 1;
}

function requestStep(random: Random): void {
  const bytes = Buffer.from(
    withMore(random.oneIn(3) ? random.pick(SOUND_REQUESTS) : someRequest(random), random),
    'latin1',
  );
  const reader = new RequestReader();
  reader.push(bytes);
  const outcome = reader.result();
  const { head } = reader;
  if (outcome.kind !== 'accept') return;
  const method = llhttpMethods.includes(head.method) ? head.method : KNOWN_METHOD;
  const read = bytes.subarray(0, bytes.length - outcome.rest.length);
  if (hasFramingTrailer(read, head.framing) || hasExtensionSpace(read, head.framing)) return;
  const message = withMethod(read, head.method, method);
  const found = llhttpRequests(message);
  const shown = JSON.stringify(message.toString('latin1'));
  checkMessage(found, { head, body: outcome.body, trailers: outcome.trailers ?? '' }, shown);
  const [first] = found.messages;
  checkEqual([found.messages.length, first?.method], [1, method], `llhttp differs on ${shown}`);
  const path = first?.target.replace(/^https?:\/\/[^/?]*/i, '') ?? '';
  const target = path.startsWith('/') || path === '*' ? path : `/${path}`;
  checkEqual(target, head.target, `llhttp sees another target in ${shown}`);
  const cut = llhttpRequests(message.subarray(0, -1));
  check(cut.messages.at(-1)?.complete !== true, `llhttp sees an earlier end of ${shown}`);
  if (head.upgrade !== undefined) compared.upgrade += 1;
  if (method !== head.method) compared['other method'] += 1;
}

function hasExtensionSpace(message: Buffer, framing: BodyFraming): boolean {
  return framing === BodyFraming.chunked && extensionSpace.test(message.toString('latin1'));
}

/** The request with another method in the place of its own. */
function withMethod(request: Buffer, own: string, method: string): Buffer {
  if (own === method) return request;
  const at = request.indexOf(own);
  return Buffer.concat([request.subarray(0, at), Buffer.from(method), request.subarray(at + own.length)]);
}

function responseStep(random: Random): void {
  const bytes = Buffer.from(withMore(someResponse(random), random), 'latin1');
  const method = random.pick(['GET', 'GET', 'HEAD', 'POST']);
  const reader = new ResponseReader(method);
  reader.push(bytes);
  reader.end();
  const outcome = reader.result();
  const { head } = reader;
  if (outcome.kind !== 'accept' || head.status < 200 || head.upgrade !== undefined) return;
  const message = bytes.subarray(0, bytes.length - outcome.rest.length);
  const isUntilClose = head.framing === BodyFraming.untilClose;
  const text = message.toString('latin1');
  if (hasFramingTrailer(message, head.framing) || interimThatCloses.test(text)) return;
  if (hasExtensionSpace(message, head.framing)) return;
  const found = llhttpResponses(message, method, isUntilClose);
  const shown = `${method} ${JSON.stringify(text)}`;
  checkMessage(found, { head, body: outcome.body, trailers: outcome.trailers ?? '' }, shown);
  const final = found.messages.at(-1);
  checkEqual([final?.status, final?.reason], [head.status, head.reason], `llhttp differs on ${shown}`);
  const interim = found.messages.slice(0, -1).map(({ status }) => status);
  checkEqual(interim, reader.interim, `llhttp sees other interim responses in ${shown}`);
  if (interim.length > 0) compared.interim += 1;
  if (isUntilClose) return;
  const cut = llhttpResponses(message.subarray(0, -1), method, false);
  const isCut = cut.messages.length < found.messages.length || cut.messages.at(-1)?.complete !== true;
  check(isCut, `llhttp sees an earlier end of ${shown}`);
}

function hasFramingTrailer(message: Buffer, framing: number): boolean {
  if (framing !== BodyFraming.chunked) return false;
  return framingField.test(message.toString('latin1', message.indexOf('\r\n\r\n') + 4));
}

export const differentialFuzzer: Fuzzer = { name: 'differential', step: requestStep };
export const differentialResponseFuzzer: Fuzzer = { name: 'differential-response', step: responseStep };
