import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readWriteNote, WRITE_SOURCES } from './write-note.ts';

const COMMIT = 'd670460b4b4aece5915caf5c68d12f560a9fe3e4';

describe('what a caller says about a write', () => {
  it('is the API without a message when nothing is said', () => {
    expect(readWriteNote({})).toEqual({ source: 'api', commit: null, message: null });
  });

  it.each([
    ['cli', { source: 'cli', commit: null }],
    [' console ', { source: 'console', commit: null }],
    [`cli; commit=${COMMIT}`, { source: 'cli', commit: COMMIT }],
    [`import;commit=${COMMIT.toUpperCase()}`, { source: 'import', commit: COMMIT }],
    ['cli ; commit=abcdef0', { source: 'cli', commit: 'abcdef0' }],
  ])('reads Headgate-Source: %s', (header, expected) => {
    expect(readWriteNote({ 'headgate-source': header })).toMatchObject(expected);
  });

  it.each([
    'CLI',
    '',
    'robot',
    'cli;',
    'cli; commit=',
    'cli; commit=abc',
    'cli; commit=xyzxyzxyz',
    `cli; commit=${'a'.repeat(65)}`,
    'cli, cli',
    'cli; branch=main',
    'cli; commit=abcdef0; commit=abcdef1',
  ])('refuses Headgate-Source: %j by name', (header) => {
    expect(readWriteNote({ 'headgate-source': header })).toMatchObject({
      failure: 'bad_request',
      detail: expect.stringContaining('Headgate-Source'),
    });
  });

  it.each(['%', '%FF', 'a%00b', 'a%0db', '%1B[31m', 'x'.repeat(1_001), '%E2%82%AC'.repeat(1_001)])(
    'refuses Headgate-Message: %j by name',
    (header) => {
      expect(readWriteNote({ 'headgate-message': header })).toMatchObject({
        failure: 'bad_request',
        detail: expect.stringContaining('Headgate-Message'),
      });
    },
  );

  it('gives every well-formed note back', () => {
    const message = fc
      .string({ unit: 'grapheme', maxLength: 200 })
      // oxlint-disable-next-line no-control-regex -- they are refused
      .filter((text) => text.isWellFormed() && !/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text));
    const commit = fc.option(fc.stringMatching(/^[0-9a-f]{7,64}$/));
    fc.assert(
      fc.property(fc.constantFrom(...WRITE_SOURCES), commit, message, (source, hex, text) => {
        const headers = {
          'headgate-source': source + (hex === null ? '' : `; commit=${hex}`),
          'headgate-message': encodeURIComponent(text),
        };
        expect(readWriteNote(headers)).toEqual({ source, commit: hex, message: text.trim() || null });
      }),
    );
  });

  it('never throws, whatever is sent', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (source, message) => {
        const note = readWriteNote({ 'headgate-source': source, 'headgate-message': message });
        expect(note).toBeTypeOf('object');
      }),
    );
  });
});
