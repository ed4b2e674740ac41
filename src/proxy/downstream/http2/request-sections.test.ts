import { expect, it } from 'vitest';
import { encodeFields, encodeMethod, encodePath } from '../../../http/http2/hpack/encoder.ts';
import { RequestSections } from './request-sections.ts';

const OPTIONS = { maxHeadBytes: 32 * 1024, maxHeaders: 100, http2Websockets: false };
const BLOCK = encodeMethod('POST') + encodePath('/a') + encodeFields([':scheme', 'https', 'host', 'a.test']);

/** `GET /b`, whose path enters the table. */
const INSERTING = `\x44\x02/b${encodeMethod('GET')}${encodeFields([':scheme', 'https', 'host', 'a.test'])}`;
/** The newest entry of the table in place of a path. */
const REFERRING = `\xbe${encodeMethod('GET')}${encodeFields([':scheme', 'https', 'host', 'a.test'])}`;

function reader(): (text: string, endStream?: boolean) => unknown {
  const sections = new RequestSections(OPTIONS);
  return (text, endStream = true) => {
    const section = sections.request(Buffer.from(text, 'latin1'), 0, text.length, endStream);
    return typeof section === 'object' && 'text' in section
      ? `${section.text.slice(0, section.text.indexOf(' HTTP'))} ${section.framing}`
      : section;
  };
}

it('the same bytes with content and without are two requests', () => {
  const read = reader();
  for (let n = 0; n < 3; n++) {
    expect(read(BLOCK, false)).toBe('POST /a chunked');
    expect(read(BLOCK, true)).toBe('POST /a none');
  }
});

it('bytes behind a section that was seen make it another one, which is broken', () => {
  const read = reader();
  read(BLOCK, false);
  read(BLOCK, true);
  // Each is a size of the table, which must not follow a field (RFC 7541 section 4.2).
  for (const byte of ['+', '.']) {
    expect(reader()(BLOCK + byte)).toBeUndefined();
    expect(read(BLOCK + byte)).toBeUndefined();
  }
});

it('the same bytes after a change of the table are another request', () => {
  const read = reader();
  expect(read(INSERTING)).toBe('GET /b none');
  expect(read(REFERRING)).toBe('GET /b none');
  expect(read(REFERRING)).toBe('GET /b none');
  expect(read(INSERTING.replace('/b', '/c'))).toBe('GET /c none');
  expect(read(REFERRING)).toBe('GET /c none');
  // The table is emptied.
  expect(read(`\x20${BLOCK}`)).toBe('POST /a none');
  expect(read(REFERRING)).toBeUndefined();
});
