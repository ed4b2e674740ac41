import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { referenceChunked } from '../../../test/fuzz/reference/chunked.ts';
import {
  CHUNK_EXTENSION_BYTES_MAX,
  ChunkedDecoder,
  chunkHeader,
  lastChunk,
  TRAILER_BYTES_MAX,
} from './chunked-decoder.ts';

function decode(decoder: ChunkedDecoder, text: string): { data: string; used: number } {
  const bytes = Buffer.from(text, 'latin1');
  let data = '';
  const used = decoder.write(bytes, 0, bytes.length, (buffer, from, to) => {
    data += buffer.toString('latin1', from, to);
  });
  return { data, used };
}

describe('ChunkedDecoder', () => {
  it('passes on ranges of the given buffer and stops after the body', () => {
    const large = 'x'.repeat(5_000);
    const bytes = Buffer.from(`xx5\r\nhello\r\n1388\r\n${large}\r\n0\r\n\r\nGET`, 'latin1');
    const ranges: number[][] = [];
    const decoder = new ChunkedDecoder();
    const used = decoder.write(bytes, 2, bytes.length, (buffer, from, to) => {
      expect(buffer).toBe(bytes);
      ranges.push([from, to]);
    });
    expect(ranges).toEqual([
      [5, 10],
      [18, 5_018],
    ]);
    expect(bytes.toString('latin1', used)).toBe('GET');
    expect(decoder.done).toBe(true);
  });

  it('passes on what many small chunks hold in one piece', () => {
    const sizes = Array.from({ length: 10_000 }, (_, index) => 1 + ((index * index) % 40));
    const data = sizes.map((size, index) => String.fromCharCode(97 + (index % 26)).repeat(size));
    const framed = data.map((piece) => `${chunkHeader(piece.length)}${piece}\r\n`).join('');
    const bytes = Buffer.from(framed + lastChunk(), 'latin1');
    const pieces: string[] = [];
    const decoder = new ChunkedDecoder();
    decoder.write(bytes, 0, bytes.length, (buffer, from, to) =>
      pieces.push(buffer.toString('latin1', from, to)),
    );
    expect(pieces).toEqual([data.join('')]);
    expect(decoder.done).toBe(true);
  });

  it('reads no byte beyond the given end', () => {
    const decoder = new ChunkedDecoder();
    const bytes = Buffer.from('2\r\nabJUNK', 'latin1');
    let data = '';
    expect(
      decoder.write(bytes, 0, 5, (buffer, from, to) => (data += buffer.toString('latin1', from, to))),
    ).toBe(5);
    expect([data, decoder.error]).toEqual(['ab', undefined]);
  });

  it('consumes nothing after it has ended or failed, until it is reset', () => {
    const decoder = new ChunkedDecoder();
    decode(decoder, '0\r\nX: 1\r\n\r\n');
    expect([decoder.done, decoder.trailers]).toEqual([true, 'X: 1\r\n']);
    expect(decode(decoder, '0\r\n\r\n').used).toBe(0);
    decoder.reset();
    decode(decoder, 'zz');
    expect(decoder.error?.code).toBe('bad_chunk_size');
    expect(decode(decoder, '0\r\n\r\n').used).toBe(0);
    decoder.reset();
    expect(decode(decoder, '1\r\na\r\n0\r\n\r\n').data).toBe('a');
    expect([decoder.done, decoder.trailers, decoder.error]).toEqual([true, undefined, undefined]);
  });

  it('limits the total length of the extensions of a body', () => {
    const decoder = new ChunkedDecoder();
    const chunk = `1;${'e'.repeat(99)}\r\nx\r\n`;
    const fitting = Math.floor(CHUNK_EXTENSION_BYTES_MAX / 100);
    decode(decoder, chunk.repeat(fitting));
    expect(decoder.error).toBeUndefined();
    decode(decoder, chunk);
    expect(decoder.error?.code).toBe('chunk_extension_too_large');
  });

  it.each([1, 7, 100_000])(
    'limits the trailer section when it arrives in pieces of %i bytes',
    (pieceBytes) => {
      const fit = (extra: number) => {
        const decoder = new ChunkedDecoder();
        const text = lastChunk(`X: ${'a'.repeat(TRAILER_BYTES_MAX - 5 + extra)}\r\n`);
        for (let at = 0; at < text.length; at += pieceBytes) decode(decoder, text.slice(at, at + pieceBytes));
        return decoder.error?.code ?? decoder.done;
      };
      expect([fit(0), fit(1)]).toEqual([true, 'trailer_too_large']);
    },
  );

  it('decodes what chunkHeader and lastChunk write', () => {
    const decoder = new ChunkedDecoder();
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1, unit: 'binary-ascii' })), (parts) => {
        decoder.reset();
        const text = parts.map((part) => `${chunkHeader(part.length)}${part}\r\n`).join('') + lastChunk();
        expect(decode(decoder, text)).toEqual({ data: parts.join(''), used: text.length });
        expect(decoder.done).toBe(true);
      }),
    );
  });

  it('agrees with its slow twin on bodies of chunk-like pieces, split at any point', () => {
    const piece = fc.constantFrom(
      '0',
      '1',
      'a',
      ';',
      ';a',
      '=',
      '"',
      'x',
      '\r\n',
      '\r',
      '\n',
      ' ',
      '1\r\nx\r\n',
      '0\r\n',
      'X: 1\r\n',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(40), (pieces, cut) => {
        const text = pieces.join('');
        const decoder = new ChunkedDecoder();
        const first = decode(decoder, text.slice(0, cut));
        const second = decode(decoder, text.slice(cut));
        const reference = referenceChunked(text);
        expect(decoder.done).toBe(reference !== undefined);
        expect(decoder.done ? first.data + second.data : undefined).toBe(reference?.data);
        expect(decoder.done ? first.used + second.used : undefined).toBe(reference?.used);
      }),
      { numRuns: 3000 },
    );
  });
});
