/** Requests, responses and bodies for the fuzzers: generated from parts, or mutated from the conformance corpus. */
import { readCases } from '../conformance/read-cases.ts';
import { mutate, stretched } from './mutate.ts';
import type { Random } from './random.ts';

const requestCorpus = readCases('request')
  .map((one) => one.rawBytes.toString('latin1'))
  .filter((text) => text.length < 4000);
const responseCorpus = readCases('response')
  .map((one) => one.rawBytes.toString('latin1'))
  .filter((text) => text.length < 4000);

const tokenCharacters = "!#$%&'*+-.^_`|~019azAZ".split('');
const methods = [
  'GET',
  'GET',
  'POST',
  'PUT',
  'HEAD',
  'OPTIONS',
  'DELETE',
  'CONNECT',
  'PURGE',
  'get',
  'M'.repeat(65),
];
const targets = [
  '/',
  '/a',
  '/a/b?c=d',
  '*',
  'http://b.example/x?y',
  'https://[::1]:8443',
  'http://u@b/',
  '//b',
  '/a b',
  'a:80',
  '/%zz',
];
const hosts = ['a', 'a.example:8080', '[::1]', '[::1]:80', 'a_b', 'a..b', '', 'a,b', 'a:', '192.0.2.1:65536'];
const lines = [
  'Accept: */*',
  'X-A:1',
  'X-B: \t 2 \t',
  'X-C:',
  'Content-Length: 5',
  'content-length: 0',
  'Content-Length: 05',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding: gzip',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: x-a, Upgrade',
  'Connection: a;b',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Expect: x',
  'Authorization: Bearer t',
  'X_Forwarded_For: 1',
  'X-Headgate-Key: 1',
  ' folded',
  'A : b',
  'no colon',
  ': v',
  'X-D: \xe4\xff',
  'X-E: a\x00b',
  'X-F: a\nb',
  'X-G: a\rb',
];

/** Text of a request head with its empty line; now and then sound, often not. */
export function someRequest(random: Random): string {
  if (random.oneIn(2)) return stretched(mutate(random.pick(requestCorpus), random), random);
  let head = `${random.pick(methods)} ${random.pick(targets)} HTTP/1.${random.oneIn(4) ? 0 : 1}\r\n`;
  if (!random.oneIn(8)) head += `Host: ${random.oneIn(3) ? random.pick(hosts) : 'a'}\r\n`;
  head += random.repeat(random.below(5), () => `${random.pick(lines)}\r\n`);
  head += '\r\n';
  return stretched(random.oneIn(3) ? mutate(head, random) : head, random);
}

const versions = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0'];
const statusLines = [
  '200 OK',
  '200 ',
  '204 No Content',
  '206 Partial',
  '304 Not Modified',
  '404 \xe4\t!',
  '599 x',
];
const responseLines = [
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 12',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding:\tCHUNKED ',
  'Connection: close',
  'Connection: keep-alive, x-a',
  'Set-Cookie: a=b; c="d"',
  'Trailer: X',
];

/** Text of a response with its body. */
export function someResponse(random: Random): string {
  if (random.oneIn(2)) return stretched(mutate(random.pick(responseCorpus), random), random);
  const interim = random.oneIn(4)
    ? `HTTP/1.1 ${random.pick(['100 Continue', '103 Early Hints', '199 '])}\r\n${someFields(random)}\r\n`
    : '';
  const head = `${random.pick(versions)} ${random.pick(statusLines)}\r\n`;
  const fields = random.repeat(random.below(3), () => `${random.pick(responseLines)}\r\n`);
  const text = `${interim}${head}${fields}\r\n${random.pick(['', 'hello', 'hello, world'])}`;
  return stretched(random.oneIn(4) ? mutate(text, random) : text, random);
}

/** Field lines with names and values of all bytes that they may have, and now and then of one that they may not. */
export function someFields(random: Random): string {
  return random.repeat(random.below(4), () => {
    const name = random.repeat(1 + random.below(12), () => random.pick(tokenCharacters));
    const space = () => random.repeat(random.below(3), () => random.pick([' ', ' ', '\t']));
    const value = random.repeat(random.below(20), () => {
      const code = random.below(random.oneIn(60) ? 256 : 190);
      // Visible ASCII and obs-text; the rest only where `code` says so.
      return String.fromCharCode(code < 94 ? code + 33 : code < 190 ? code + 66 : code - 190);
    });
    return `${name}:${space()}${value}${space()}\r\n`;
  });
}

/** A chunked body, damaged half of the time, with something behind it. */
export function someChunkedBody(random: Random): string {
  const extension = () =>
    random.pick(['', '', '', ';a', ';a=b', ';a="b\\"c"', ';a;b=c', '; a', ';=', ';a="']);
  let body = random.repeat(random.below(4), () => {
    const size = 1 + random.below(random.oneIn(8) ? 300 : 20);
    const digits = random.pick([
      size.toString(16),
      size.toString(16).toUpperCase(),
      size.toString(16).padStart(4, '0'),
    ]);
    return `${digits}${extension()}\r\n${random.repeat(size, () => String.fromCharCode(random.below(256)))}\r\n`;
  });
  body += `0${extension()}\r\n`;
  body += random.repeat(
    random.below(3),
    () => `${random.pick(['X: 1', 'Host: a', 'Y:', 'Cookie: c', 'Z: \xff'])}\r\n`,
  );
  body += '\r\n';
  if (random.oneIn(2)) body = mutate(body, random);
  // Within what a trailer section may have: where a flood is noticed depends on how it is cut.
  return stretched(body, random, 4 * 1024) + random.pick(['', 'GET / HTTP/1.1\r\n', '\r\n', 'x']);
}

/** A raw path, built from the pieces on which canonicalisers disagree. */
export function somePath(random: Random): string {
  const pieces = [
    '/',
    '/',
    'a',
    'B',
    '.',
    '..',
    '%2e',
    '%2E',
    '%2f',
    '%2F',
    '%5c',
    '\\',
    '%25',
    '%',
    '%zz',
    ';',
    '%3b',
    ';x=1',
    '%00',
    '%7f',
    '%0a',
    '%41',
    '%7E',
    '%c3%a9',
    '%c0%ae',
    '%e0%80%af',
    '%f0%80',
    '|',
    '{',
    '"',
    ' ',
    '#',
    '?',
    '\x01',
    '\xe9',
    '~',
    '+',
    ':',
  ];
  const path = random.repeat(random.below(8), () => random.pick(pieces));
  return stretched((random.oneIn(20) ? '' : '/') + path, random);
}

/** Cuts `bytes` into pieces at random positions. */
export function someCuts(bytes: Buffer, random: Random): Buffer[] {
  const pieces = [];
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + 1 + random.below(random.oneIn(2) ? 4 : bytes.length));
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}
