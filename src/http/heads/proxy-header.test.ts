import { describe, expect, it } from 'vitest';
import { crc32c } from './crc32c.ts';
import { PROXY_HEADER_BYTES_MAX, readProxyHeader } from './proxy-header.ts';

const SIGNATURE = '0d0a0d0a000d0a515549540a';
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const text = (line: string): Buffer => Buffer.from(line, 'latin1');
const binary = (rest: string): Buffer => hex(SIGNATURE + rest);
const complete = (length: number, client?: string): object => ({ kind: 'complete', length, client });
const V4 = '21 11 000c c0000201 c6336401 d431 0050';
const V6 = '21 21 0024 20010db8000000000000000000000001 20010db8000000000000000000000002 d431 01bb';

describe('version 1', () => {
  it.each([
    ['PROXY TCP4 192.0.2.1 198.51.100.1 54321 80\r\n', '192.0.2.1'],
    ['PROXY TCP6 2001:DB8:0:0::1 2001:db8::2 54321 443\r\n', '2001:db8::1'],
    ['PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.1 0 65535\r\n', '192.0.2.1'],
    ['PROXY UNKNOWN\r\n', undefined],
    ['PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n', undefined],
  ])('%j', (line, client) => {
    expect(readProxyHeader(text(line))).toEqual(complete(line.length, client));
    expect(readProxyHeader(text(`${line}GET / HTTP/1.1\r\n\r\n`))).toEqual(complete(line.length, client));
  });

  it.each([
    'GET / HTTP/1.1\r\n',
    'PROXY\r\n',
    'PROXY  TCP4 192.0.2.1 198.51.100.1 1 2\r\n',
    'PROXY TCP4 192.0.2.1 198.51.100.1 1\r\n',
    'PROXY TCP4 192.0.2.1 198.51.100.1 1 2 3\r\n',
    'PROXY TCP4 192.0.2.01 198.51.100.1 1 2\r\n',
    'PROXY TCP4 192.0.2.1 198.51.100.1 01 2\r\n',
    'PROXY TCP4 192.0.2.1 198.51.100.1 1 65536\r\n',
    'PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n',
    'PROXY TCP6 192.0.2.1 198.51.100.1 1 2\r\n',
    'PROXY TCP6 fe80::1%eth0 2001:db8::2 1 2\r\n',
    'PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\n',
    'PROXY TCP4 192.0.2.1 198.51.100.1 1 2\n' + 'x'.repeat(107),
    `PROXY UNKNOWN ${'x'.repeat(107)}`,
  ])('refuses %j', (line) => {
    expect(readProxyHeader(text(line))).toMatchObject({ kind: 'malformed' });
  });
});

describe('version 2', () => {
  it.each([
    ['IPv4', V4, '192.0.2.1'],
    ['IPv6', V6, '2001:db8::1'],
    [
      'a mapped address',
      V6.replace('20010db8000000000000000000000001', '00000000000000000000ffffc0000201'),
      '192.0.2.1',
    ],
    ['its own check', '20 00 0000', undefined],
    ['its own check, with addresses', V4.replace('21', '20'), undefined],
    ['no family', '21 00 0003 ffffff', undefined],
    ['a socket of the machine', `21 31 00d8 ${'00'.repeat(216)}`, undefined],
    ['extensions', '21 11 0013 c0000201 c6336401 d431 0050 040000 020001 61', '192.0.2.1'],
  ])('%s', (_what, rest, client) => {
    const header = binary(rest);
    expect(readProxyHeader(header)).toEqual(complete(header.length, client));
    const more = Buffer.concat([header, text('PROXY UNKNOWN\r\n')]);
    expect(readProxyHeader(more)).toEqual(complete(header.length, client));
  });

  it('checks the checksum if there is one', () => {
    // The check value of RFC 3720, appendix B.4.
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
    expect(crc32c(text('123456789'))).toBe(0xe3069283);
    const header = binary(`${V4.replace('000c', '0013')} 030004 00000000`);
    header.writeUInt32BE(crc32c(header), header.length - 4);
    expect(readProxyHeader(header)).toEqual(complete(header.length, '192.0.2.1'));
    header[16] = 193;
    expect(readProxyHeader(header)).toMatchObject({ kind: 'malformed' });
  });

  it.each([
    ['another version', V4.replace('21', '11')],
    ['another command', V4.replace('21', '22')],
    ['another family', V4.replace('11', '41')],
    ['another protocol', V4.replace('11', '13')],
    ['too short for its addresses', '21 11 000b c0000201 c6336401 d431 00'],
    ['an extension that is cut', '21 11 000e c0000201 c6336401 d431 0050 0400'],
    ['an extension beyond the end', '21 11 000f c0000201 c6336401 d431 0050 040001'],
    ['two checksums', '21 11 001a c0000201 c6336401 d431 0050 030004 00000000 030004 00000000'],
    ['too long', `21 11 ${(PROXY_HEADER_BYTES_MAX - 15).toString(16).padStart(4, '0')}`],
  ])('refuses %s', (_what, rest) => {
    expect(readProxyHeader(binary(rest))).toMatchObject({ kind: 'malformed' });
  });
});

it.each([text('PROXY TCP4 192.0.2.1 198.51.100.1 54321 80\r\n'), binary(V4), binary(V6)])(
  'waits for the rest of a header, wherever it is cut',
  (header) => {
    for (let length = 0; length < header.length; length++) {
      expect(readProxyHeader(header.subarray(0, length))).toEqual({ kind: 'incomplete' });
    }
  },
);
