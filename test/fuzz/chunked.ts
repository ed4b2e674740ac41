/** Fuzzer of the chunked decoder: against its twin, and over all ways to cut the body. */
import { ChunkedDecoder } from '../../src/http/bodies/chunked-decoder.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { someChunkedBody, someCuts } from './messages.ts';
import type { Random } from './random.ts';
import { referenceChunked } from './reference/chunked.ts';

const whole = new ChunkedDecoder();
const cut = new ChunkedDecoder();

type Decoded = {
  data: string;
  used: number;
  done: boolean;
  code: string | undefined;
  trailers: string | undefined;
};

function decode(decoder: ChunkedDecoder, pieces: readonly Buffer[]): Decoded {
  decoder.reset();
  let data = '';
  let used = 0;
  for (const given of pieces) {
    // The decoder moves small pieces of data together.
    const piece = Buffer.from(given);
    const consumed = decoder.write(piece, 0, piece.length, (buffer, from, to) => {
      check(from < to, 'An empty range of data');
      data += buffer.toString('latin1', from, to);
    });
    used += consumed;
    if (decoder.done || decoder.error !== undefined) break;
    check(consumed === piece.length, 'Bytes were left although the body goes on');
  }
  return { data, used, done: decoder.done, code: decoder.error?.code, trailers: decoder.trailers };
}

function step(random: Random): void {
  const text = someChunkedBody(random);
  const bytes = Buffer.from(text, 'latin1');
  const once = decode(whole, [bytes]);
  checkEqual(decode(cut, someCuts(bytes, random)), once, `Cut changes ${JSON.stringify(text)}`);
  const reference = referenceChunked(text);
  check(
    once.done === (reference !== undefined),
    `Twin disagrees on ${JSON.stringify(text)}: ${once.code ?? once.done}`,
  );
  if (reference === undefined) return;
  checkEqual(
    [once.data, once.used],
    [reference.data, reference.used],
    `Twin differs on ${JSON.stringify(text)}`,
  );
  const names = (once.trailers ?? '')
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(0, line.indexOf(':')));
  check(
    names.every((name) => reference.trailerNames.includes(name)),
    'A trailer came from nowhere',
  );
  check(
    !names.some((name) => /^(host|cookie|content-length|transfer-encoding)$/i.test(name)),
    'A forbidden trailer passed',
  );
}

export const chunkedFuzzer: Fuzzer = { name: 'chunked', step };
