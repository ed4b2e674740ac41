/**
 * The translation of HTTP/2 requests into HTTP/1.1: whatever fields come, what is made of them is refused, or is read
 * by the strict parser as exactly one request with the method, path, host, fields and framing that the client named.
 */
import { BodyFraming } from '../../src/http/bodies/framing.ts';
import { HeaderKind } from '../../src/http/heads/header-kind.ts';
import { RequestHead } from '../../src/http/heads/request-head.ts';
import { http1Request, http1Trailers } from '../../src/proxy/downstream/http2/http2-request.ts';
import { fieldLines } from '../support/data/field-lines.ts';
import { limits } from '../conformance/message-reader.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import type { Random } from './random.ts';

const head = new RequestHead();

const NAMES = [
  'x-a',
  'accept',
  'cookie',
  'te',
  'host',
  'content-length',
  'expect',
  'authorization',
  'x-forwarded-for',
];
const BAD_NAMES = [
  'connection',
  'transfer-encoding',
  'upgrade',
  'X-Upper',
  '',
  'a b',
  'a:b',
  'a\r\nb',
  'ä',
  ':status',
];
const VALUES = ['', '1', 'a b', 'trailers', 'localhost', '5', '0', '100-continue', 'ä', 'a\tb'];
const BAD_VALUES = [' a', 'a ', 'a\r\nb: c', 'a\nb', 'a\rb', 'a\0b', '\r\n\r\nGET /evil HTTP/1.1', 'a\u0100'];
const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'CONNECT', 'patch', 'G ET', '', 'GET / HTTP/1.1\r\nX'];
const PATHS = [
  '/',
  '/a?b=c',
  '*',
  '',
  '//x',
  '/a b',
  '/a#b',
  'http://evil/',
  '/%2e%2e',
  '/a\r\nb',
  '/ä',
  '/a\tb',
];
const HOSTS = ['localhost', 'a.test:8443', '[::1]:1', '', 'user@a', 'a b', 'a\r\nb', 'LOCALHOST'];

/** Fields of a request, names and values by turns; half of the time mostly sound ones. */
export function someHttp2Fields(random: Random): string[] {
  const fields: string[] = [];
  const isTame = random.oneIn(2);
  const add = (name: string, value: string): void => void fields.push(name, value);
  if (!random.oneIn(20)) add(':method', isTame ? random.pick(METHODS.slice(0, 4)) : random.pick(METHODS));
  if (!random.oneIn(20)) add(':scheme', isTame ? 'https' : random.pick(['https', 'http', 'ftp', '']));
  if (!random.oneIn(20)) add(':path', isTame ? random.pick(PATHS.slice(0, 2)) : random.pick(PATHS));
  if (!random.oneIn(10)) add(':authority', isTame ? random.pick(HOSTS.slice(0, 3)) : random.pick(HOSTS));
  if (random.oneIn(20)) add(random.pick([':path', ':protocol', ':status', ':']), random.pick(PATHS));
  const count = random.below(6);
  for (let n = 0; n < count; n++) {
    const name = random.oneIn(isTame ? 60 : 10) ? random.pick(BAD_NAMES) : random.pick(NAMES);
    const value = random.oneIn(isTame ? 60 : 10) ? random.pick(BAD_VALUES) : random.pick(VALUES);
    add(name, value);
  }
  return fields;
}

const valueOf = (fields: readonly string[], name: string): string | undefined => {
  const at = fields.findIndex((text, index) => index % 2 === 0 && text === name);
  return at < 0 ? undefined : fields[at + 1];
};

/** The regular fields that must arrive, with crumbs of cookies put together, in an order that does not depend on it. */
function expectedFields(fields: readonly string[]): string[] {
  const lines: string[] = [];
  const crumbs: string[] = [];
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] as string;
    const value = fields[index + 1] as string;
    if (name === 'cookie') crumbs.push(value);
    else if (!name.startsWith(':') && name !== 'host' && name !== 'content-length')
      lines.push(`${name}=${value}`);
  }
  // An empty crumb at the end leaves white space there, which is no part of a value.
  if (crumbs.length > 0) lines.push(`cookie=${crumbs.join('; ').trim()}`);
  return lines.sort();
}

export const http2RequestFuzzer: Fuzzer = {
  name: 'http2-request',
  step: (random) => {
    const fields = someHttp2Fields(random);
    const endStream = random.oneIn(2);
    const made = http1Request(fieldLines(fields), endStream);
    if ('malformed' in made) return;
    const shown = JSON.stringify(fields);
    const { text } = made;
    check(text.indexOf('\r\n\r\n') === text.length - 4, `More than one head of ${shown}`);
    check(!/[^\x20-\xff\t\r\n]|\r(?!\n)|(?<!\r)\n/.test(text), `A control character of ${shown}`);
    const host = valueOf(fields, 'host');
    const authority = valueOf(fields, ':authority');
    check((authority ?? host)?.toLowerCase() === (host ?? authority)?.toLowerCase(), `Two hosts in ${shown}`);
    checkEqual(
      text.split('\r\n').length,
      linesOf(fields, made.framing, made.method),
      `Other lines of ${shown}`,
    );
    if (head.parse(text.slice(0, -2), limits) !== undefined) return;
    checkEqual(
      [head.method, head.target, head.host.toLowerCase()],
      [
        valueOf(fields, ':method'),
        valueOf(fields, ':path'),
        (valueOf(fields, ':authority') ?? valueOf(fields, 'host'))?.toLowerCase(),
      ],
      `Another request line of ${shown}`,
    );
    checkFraming(fields, endStream, shown);
    const own: string[] = [];
    for (let index = 0; index < head.count; index++) {
      const kind = head.kind(index);
      if (
        kind === HeaderKind.host ||
        kind === HeaderKind.contentLength ||
        kind === HeaderKind.transferEncoding
      )
        continue;
      own.push(`${head.name(index)}=${head.value(index)}`);
    }
    checkEqual(own.sort(), expectedFields(fields), `Other fields of ${shown}`);
  },
};

/** Parts between the line ends of the head that must come of the fields. */
function linesOf(fields: readonly string[], framing: string, method: string): number {
  let count = expectedFields(fields).length;
  if (valueOf(fields, ':authority') !== undefined || valueOf(fields, 'host') !== undefined) count++;
  const saysEmpty = framing === 'none' && ['POST', 'PUT', 'PATCH'].includes(method);
  if (framing === 'chunked' || valueOf(fields, 'content-length') !== undefined || saysEmpty) count++;
  // The request line, and what is left and right of the last two line ends.
  return count + 3;
}

function checkFraming(fields: readonly string[], endStream: boolean, shown: string): void {
  const length = valueOf(fields, 'content-length');
  if (endStream)
    check(head.framing !== BodyFraming.chunked && head.contentLength <= 0, `A body for ${shown}`);
  else if (length === undefined) check(head.framing === BodyFraming.chunked, `No body for ${shown}`);
  else checkEqual(head.contentLength, Number(length), `Another length for ${shown}`);
  check(head.upgrade === undefined && head.connectionTokens === undefined, `Connection options of ${shown}`);
}

export const http2TrailersFuzzer: Fuzzer = {
  name: 'http2-trailers',
  step: (random) => {
    const fields = someHttp2Fields(random).slice(random.below(3) * 2);
    const lines = http1Trailers(fieldLines(fields));
    if (typeof lines === 'object') return;
    const parts = lines.split('\r\n');
    checkEqual(parts.length - 1, fields.length / 2, `Another number of lines of ${JSON.stringify(fields)}`);
    check(!/[\r\n\0]/.test(parts.join('')), `A line end inside of ${JSON.stringify(fields)}`);
  },
};
