/**
 * Requests that the gateway takes, each with what its body is: the accepted ones of the conformance corpus, generated
 * ones of HTTP/1.1 and of HTTP/2. Their bodies look like requests. What is generated comes from a seed.
 */
import { fieldLines } from './field-lines.ts';
import { RequestHead } from '../../../src/http/heads/request-head.ts';
import { BodyFraming } from '../../../src/http/bodies/framing.ts';
import { http1Request } from '../../../src/proxy/downstream/http2/http2-request.ts';
import { RequestReader } from '../../conformance/message-reader.ts';
import { readCases } from '../../conformance/read-cases.ts';
import { someHttp2Fields } from '../../fuzz/http2.ts';
import { someRequest } from '../../fuzz/messages.ts';
import { Random } from '../../fuzz/random.ts';
import type { Fields } from '../clients/http2-frames.ts';
import { DEFAULT_OPTIONS } from '../proxy.ts';

const GENERATED = 120;
const GENERATED_HTTP2 = 60;
const LENGTH_MAX = 1_000_000;
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n';

/** What is sent on one connection of HTTP/1.1. */
export interface SoundBytes {
  readonly bytes: Buffer;
  /** Of each request in `bytes`, without framing. */
  readonly bodies: readonly Buffer[];
}

/** One request of HTTP/2. */
export interface SoundStream {
  readonly fields: Fields;
  /** Of the body, each for a DATA frame; none: the header section is all there is. */
  readonly pieces: readonly Buffer[];
  readonly trailers: Fields | undefined;
}

/** The corpus's requests that are accepted, each with what follows it. */
export function corpusRequests(): SoundBytes[] {
  return readCases('request')
    .filter((entry) => entry.expect.outcome === 'accept')
    .map(({ rawBytes }) => withBodies(rawBytes));
}

/** Generated heads that the parser accepts, with a body of the length that they announce. */
export function generatedRequests(seed: number): SoundBytes[] {
  const random = new Random(seed);
  const head = new RequestHead();
  const found: SoundBytes[] = [];
  while (found.length < GENERATED) {
    const text = someRequest(random);
    const end = text.indexOf('\r\n\r\n');
    if (end < 0 || head.parse(text.slice(0, end + 2), DEFAULT_OPTIONS) !== undefined) continue;
    if (head.contentLength > LENGTH_MAX) continue;
    const body =
      head.framing === BodyFraming.chunked
        ? `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\nX-Trailer: ${random.below(10)}\r\n\r\n`
        : hidden(Math.max(head.contentLength, 0));
    found.push(withBodies(Buffer.from(`${text.slice(0, end + 4)}${body}`, 'latin1')));
  }
  return found;
}

/** Generated fields that make a request, with a body as they announce it, cut in two, and now and then trailers. */
export function generatedStreams(seed: number): SoundStream[] {
  const random = new Random(seed);
  const head = new RequestHead();
  const found: SoundStream[] = [];
  while (found.length < GENERATED_HTTP2) {
    const flat = someHttp2Fields(random);
    const isWhole = random.oneIn(3);
    const made = http1Request(fieldLines(flat), isWhole);
    if ('malformed' in made || head.parse(made.text.slice(0, -2), DEFAULT_OPTIONS) !== undefined) continue;
    const body = Buffer.from(hidden(made.framing === 'length' ? made.contentLength : random.below(200)));
    const cut = random.below(body.length + 1);
    found.push({
      fields: pairs(flat),
      pieces: isWhole ? [] : [body.subarray(0, cut), body.subarray(cut)],
      trailers: isWhole || random.oneIn(2) ? undefined : [['x-trailer', 'GET /hidden HTTP/1.1']],
    });
  }
  return found;
}

function pairs(flat: readonly string[]): Fields {
  return Array.from({ length: flat.length / 2 }, (_, index) => [
    flat[2 * index] as string,
    flat[2 * index + 1] as string,
  ]);
}

function hidden(bytes: number): string {
  return HIDDEN.repeat(Math.ceil(bytes / HIDDEN.length)).slice(0, bytes);
}

/** With the bodies of all requests in `bytes`, as the corpus's reader sees them. */
function withBodies(bytes: Buffer): SoundBytes {
  const bodies: Buffer[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const reader = new RequestReader();
    reader.push(rest);
    const outcome = reader.result();
    if (outcome.kind !== 'accept') break;
    bodies.push(Buffer.from(outcome.body, 'latin1'));
    rest = Buffer.from(outcome.rest, 'latin1');
  }
  return { bytes, bodies };
}
